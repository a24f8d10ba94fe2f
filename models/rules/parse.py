"""Read the text of a rule, so that a rule is data and no part of it is ever run as Python.

Variables begin with a capital letter; `#` begins a comment:

    forbid(E) <= hidden.relation(E,R), neq(R,"spouse")

What rules of attention say of values beside that is read and left out: weights `[W]`, `.T`, options behind `|`, a line
`name/1 | norm`, and the mark `hidden.` of a literal without a value.
"""

from dataclasses import replace
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from models.rules.syntax import Constant, Literal, Position, Rule, RuleError, Term, Variable

GRAMMAR = r"""
start: [rule | _DECLARATION] (_NEWLINE [rule | _DECLARATION])*
rule: atom [_WEIGHT] "<=" literal ("," literal)* [_OPTIONS]
?literal: atom [_WEIGHT] [_TRANSPOSE]
        | HIDDEN atom [_WEIGHT] [_TRANSPOSE] -> hidden
atom: NAME ["(" term ("," term)* ")"]
term: VARIABLE | NAME | STRING | INTEGER

HIDDEN.2: /hidden\./
_TRANSPOSE.2: /\.T\b/
_WEIGHT: /\[[\w.+-]+\]/
_OPTIONS: /\|([ \t,@]*\w+(\[[\w, \t]*\]|\([\d, \t]*\))?)+/
_DECLARATION.2: /[^\W\dA-Z]\w*[ \t]*\/[ \t]*\d+[ \t]*\|[ \t]*@?\w+(\([\d, \t]*\))?/
VARIABLE: /[A-Z]\w*/
NAME: /[^\W\dA-Z]\w*/
STRING: /"[^"\n]*"/
INTEGER: /-?\d+/
_NEWLINE: /\r?\n/
COMMENT: /#[^\n]*/
%ignore /[ \t]+/
%ignore COMMENT
"""
PARSER = Lark(GRAMMAR, parser="lalr", propagate_positions=True, maybe_placeholders=False)
# The words that error messages use for the grammar's terminals.
WORDS = {
    "NAME": "a name that begins with a small letter",
    "VARIABLE": "a variable such as I",
    "INTEGER": "a whole number",
    "STRING": 'a text in "quotes"',
    "HIDDEN": "hidden.",
    "_TRANSPOSE": ".T",
    "_WEIGHT": "[",
    "_OPTIONS": "|",
    "_NEWLINE": "the end of the line",
    "$END": "the end of the text",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "__ANON_0": "<=",
}


def parse(text: str) -> Rule:
    """Read one rule. RuleError: the text is none; the message names the place and the expected text."""
    try:
        rules: list[Rule] = _Builder().transform(PARSER.parse(text)).children
    except UnexpectedInput as error:
        raise _describe(error, text) from error
    if len(rules) != 1:
        raise RuleError(f"write one rule, not {len(rules)}", rules[1].head.at if rules else Position(1, 1))
    return rules[0]


def _describe(error: UnexpectedInput, text: str) -> RuleError:
    if isinstance(error, UnexpectedToken):
        is_end = error.token.type in ("$END", "_NEWLINE")
        actual = "the end of the line" if is_end else repr(str(error.token))
        terminals = error.accepts or error.expected
    else:
        assert isinstance(error, UnexpectedCharacters)
        actual, terminals = repr(text[error.pos_in_stream or 0]), error.allowed
    expected = sorted({WORDS[name] for name in terminals or () if name in WORDS})
    at = Position(error.line, error.column)
    if error.line < 1:
        at = Position(text.count("\n") + 1, len(text.rpartition("\n")[2]) + 1)
    return RuleError(f"{actual} is unexpected; expected {' or '.join(expected)}", at)


def _position(token: Token) -> Position:
    return Position(token.line or 1, token.column or 1)


@v_args(inline=True)
class _Builder(Transformer[Token, Any]):
    """Make the tree of `syntax.py` out of the parser's."""

    def rule(self, head: Literal, *body: Literal) -> Rule:
        return Rule(head, body)

    def hidden(self, mark: Token, atom: Literal) -> Literal:
        return replace(atom, at=_position(mark))

    def atom(self, name: Token, *terms: Term) -> Literal:
        return Literal(str(name), terms, _position(name))

    def term(self, token: Token) -> Term:
        at = _position(token)
        if token.type == "VARIABLE":
            return Variable(str(token), at)
        return Constant(int(token) if token.type == "INTEGER" else str(token).strip('"'), at)
