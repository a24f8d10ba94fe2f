"""Plain sentences in docstrings and comments: their first words, and phrases that hide who does what.

A function's docstring begins with a verb in the imperative (`verbs.txt` lists them; a property's may name its value).
No docstring, comment or sentence begins with a word of `OPENINGS`, which leave it without a subject. In tests and in
Markdown files only `RIDDLES` are faults.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tokenize import TokenInfo

from tests.shape.sources import parse, without_tests

VERBS = frozenset((Path(__file__).parent / "verbs.txt").read_text("utf-8").split())
PHRASES = re.compile(
    r"\b(?:nobody|whoever|whomever|somebody|what is|what was|of its own|of their own|in force)\b",
    re.IGNORECASE,
)
RIDDLES = re.compile(
    r"\b(?:[Nn]obody|[Ww]hoever|[Ww]homever)\b|(?:^|(?<=[.:;?!|] )|(?<=- ))(?:Of|Unless)(?= [a-z])",
    re.MULTILINE,
)
OPENINGS = re.compile(r"(?:as|as of|beside|not|of|those|unless|with)\b", re.IGNORECASE)
QUOTATION = re.compile(r"\"[^\"]*\"")
CODE = re.compile(r"^ *```.*?^ *```|`[^`]*`", re.MULTILINE | re.DOTALL)
FIRST_WORD = re.compile(r"[A-Za-z-]+")
NEXT_SENTENCE = re.compile(r"(?<=[a-z0-9)\]`\"][a-z0-9)\]`\"][.?!]) +(?=(?:Beside|Not|Of|Those|Unless)\b)")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Prose:
    """A docstring or a comment, as one line."""

    line: int  # where it begins
    words: str  # its text without quotes and number signs
    # The function that it documents; None for any other docstring and for a comment
    function: Function | None = None


def find_bad_prose(sources: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the path of each file that is not a test with a sentence for each fault of its prose."""
    for path, text in without_tests(sources):
        for prose in texts(text):
            for complaint in complaints(prose):
                yield path, f"{path}:{prose.line}: {complaint}"


def find_riddles(sources: Mapping[str, str], pages: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each riddle in the docstrings and comments of tests, and in Markdown files."""
    for path, text in sources.items():
        if path.startswith("tests/"):
            for prose in texts(text):
                for riddle in RIDDLES.findall(QUOTATION.sub("", prose.words)):
                    yield f"{path}:{prose.line}: {riddle!r}: name the thing or the person"
    for path, text in pages.items():
        for riddle in RIDDLES.findall(QUOTATION.sub("", CODE.sub("", text))):
            yield f"{path}: {riddle!r}: name the thing or the person"


def complaints(prose: Prose) -> Iterator[str]:
    """Yield a sentence for each rule that a text breaks."""
    if prose.function is not None and not is_property(prose.function):
        first = FIRST_WORD.match(prose.words)
        if first is None or not first.group()[0].isupper() or first.group().lower() not in VERBS:
            opening = prose.words.split(" ")[0]
            yield f"the docstring of {prose.function.name} begins with {opening!r}, not with a verb of verbs.txt"
    for sentence in NEXT_SENTENCE.split(prose.words):
        if OPENINGS.match(sentence):
            yield f"a sentence begins with {sentence.split(' ')[0]!r}: give it a subject and a verb"
    for phrase in PHRASES.findall(QUOTATION.sub("", prose.words)):
        yield f"{phrase!r}: name the thing or the person"


def is_property(function: Function) -> bool:
    """Return whether callers read a function as an attribute, whose docstring may name its value."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def texts(source: str) -> Iterator[Prose]:
    """Yield the docstrings of a file, and its comments; comments of consecutive lines are one text."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and (text := ast.get_docstring(node)):
            function = node if isinstance(node, Function) else None
            yield Prose(node.body[0].lineno, " ".join(text.split()), function)
    yield from _comments(source)


def _comments(source: str) -> Iterator[Prose]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    for _, block in groupby(enumerate(comments), key=lambda item: _block_key(*item)):
        lines = [token for _, token in block]
        yield Prose(lines[0].start[0], " ".join(token.string.lstrip("#").strip() for token in lines))


def _block_key(position: int, token: TokenInfo) -> tuple[int, int]:
    """Return a key that comments on consecutive lines of their own share, and no others."""
    stands_alone = not token.line[: token.start[1]].strip()
    return (token.start[0] - position, token.start[1]) if stands_alone else (-position - 1, 0)
