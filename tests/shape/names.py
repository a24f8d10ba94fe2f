"""Names that say what they hold: no name is a pronoun or a bare participle."""

import ast
import re
from collections.abc import Iterator, Mapping

from tests.shape.sources import parse


def words(text: str) -> frozenset[str]:
    """Split a list of words at its spaces."""
    return frozenset(text.split())


PRONOUNS = words(
    """one ones some others each both who whom whose what which mine own ours theirs yours it them they these those
    here there everything something nothing anything everyone someone nobody anybody most more less least few many
    several"""
)
IRREGULAR_PARTICIPLES = words(
    """told said made found given known held kept left gone wanted asked taken seen unseen shown written
    spoken unspoken drawn chosen meant sent done bent spent spelt taught untold brought fed begun come become met
    lost won thrown grown torn sworn stolen bound built bought caught dealt felt heard laid led paid sold sought
    stood struck swept thought understood worn wound"""
)
REGULAR_PARTICIPLE = re.compile(r"[a-z]+[^e]ed|[a-z]+eed")
# Nouns and verbs that end like participles, and states that the field itself names so.
STANDARD_WORDS = words(
    """seed feed need speed red embed bed
    expected cached shared closed packed padded sorted encoded embedded gated hidden masked revoked reverted restored
    superseded unlabelled truncated degraded deprecated cancelled finished healthy trained allowed required supported
    malformed ignored skipped failed refused changed applied declined scheduled compressed limited isolated
    unbounded crashed unauthorized unsupported rejected rotated created decoded quantized pooled done denied"""
)


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield every name that this code gives to something, with its line. Foreign names are left out."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()) | ast.Name(ctx=ast.Del()):
                yield node.id, node.lineno
            case ast.Attribute(value=ast.Name(id="self" | "cls"), ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str()):
                yield node.asname, node.lineno
            case ast.MatchAs(name=str()) | ast.MatchStar(name=str()):
                yield node.name, node.lineno  # type: ignore[misc]


def is_forbidden(name: str) -> bool:
    """Return whether a name of a single word is a pronoun or a participle. `sorted_rows` says what it is about."""
    word = name.strip("_")
    if not (word.islower() or word.isupper() or word.istitle()):
        return False
    word = word.lower()
    if word in STANDARD_WORDS:
        return False
    return word in PRONOUNS or word in IRREGULAR_PARTICIPLES or bool(REGULAR_PARTICIPLE.fullmatch(word))


def find_forbidden_names(sources: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each name that is a pronoun or a participle."""
    for path, text in sorted(sources.items()):
        for name, line in identifiers(parse(text)):
            if is_forbidden(name):
                yield f"{path}:{line}: {name} is a pronoun or a participle: name what it holds"
