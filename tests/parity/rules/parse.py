"""Read the text of rules, so that a rule is data and no part of it is ever run as Python.

One rule stands on a line; `#` begins a comment. Variables begin with a capital letter:

    w(I,J)  <= dk, k(J).T, q(I), causal  | product, softmax[J]
    att(I)  <= w(I,J), v(J)              | product, sum
    mlp[W2] <= norm1[W1]                 | relu
    out/1   | norm                       # the transformation of a head, after its rules are summed

Behind `|` stand a combination, a transformation and an aggregation, each of which may be left out. A word that is both
a combination and an aggregation is a combination only where an aggregation follows it.
"""

from typing import Any

from lark import Lark, Token, Transformer, v_args

from models.rules.syntax import Constant, Position, Term, Variable
from tests.parity.rules.syntax import IDENTITY, Declaration, Literal, Options, Program, Rule, Transformation

GRAMMAR = r"""
start: [statement] (_NEWLINE [statement])*
?statement: rule | declaration
rule: head "<=" literal ("," literal)* ["|" option ("," option)*]
declaration: NAME "/" INTEGER "|" option
head: atom [weight]
literal: [HIDDEN] atom [weight] [TRANSPOSE]
atom: NAME ["(" term ("," term)* ")"]
?weight: "[" (NAME | VARIABLE | INTEGER | FLOAT) "]"
term: VARIABLE | NAME | STRING | INTEGER
option: NAME -> word
      | NAME "[" VARIABLE ("," VARIABLE)* "]" -> over_variables
      | NAME "(" [INTEGER ("," INTEGER)*] ")" -> call
      | "@" (NAME | VARIABLE) -> network

HIDDEN.2: /hidden\./
TRANSPOSE.2: /\.T\b/
VARIABLE: /[A-Z]\w*/
NAME: /[^\W\dA-Z]\w*/
STRING: /"[^"\n]*"/
FLOAT.2: /-?\d+\.\d+([eE][+-]?\d+)?|-?\d+[eE][+-]?\d+/
INTEGER: /-?\d+/
_NEWLINE: /\r?\n/
COMMENT: /#[^\n]*/
%ignore /[ \t]+/
%ignore COMMENT
"""
PARSER = Lark(GRAMMAR, parser="lalr", propagate_positions=True, maybe_placeholders=True)
COMBINATIONS = ("sum", "product", "elproduct", "concat")
AGGREGATIONS = ("avg", "sum", "max", "min", "count", "concat", "softmax")


def parse(text: str) -> Program:
    """Read a program."""
    return _Builder().transform(PARSER.parse(text))  # type: ignore[no-any-return]


def _position(token: Token) -> Position:
    return Position(token.line or 1, token.column or 1)


@v_args(inline=True)
class _Builder(Transformer[Token, Any]):
    """Make the tree of `syntax.py` out of the parser's."""

    def start(self, *statements: Rule | Declaration | None) -> Program:
        rules = tuple(statement for statement in statements if isinstance(statement, Rule))
        declarations = [statement for statement in statements if isinstance(statement, Declaration)]
        return Program(rules, {d.relation: d.transformation for d in declarations})

    def rule(self, head: Literal, *parts: Literal | tuple[Token, Any] | None) -> Rule:
        body = tuple(part for part in parts if isinstance(part, Literal))
        options = [part for part in parts if isinstance(part, tuple)]
        return Rule(head, body, _read_options(options))

    def declaration(self, name: Token, arity: Token, option: tuple[Token, Any]) -> Declaration:
        return Declaration(str(name), int(arity), _read_transformation(*option), _position(name))

    def head(self, atom: Literal, weight: Token | None) -> Literal:
        return Literal(atom.relation, atom.terms, atom.at, _read_weight(weight))

    def literal(
        self, hidden: Token | None, atom: Literal, weight: Token | None, transpose: Token | None
    ) -> Literal:
        is_hidden = hidden is not None or atom.relation.startswith("_")
        at = atom.at if hidden is None else _position(hidden)
        return Literal(atom.relation, atom.terms, at, _read_weight(weight), is_hidden, transpose is not None)

    def atom(self, name: Token, *terms: Term | None) -> Literal:
        return Literal(str(name), tuple(term for term in terms if term is not None), _position(name))

    def term(self, token: Token) -> Term:
        at = _position(token)
        if token.type == "VARIABLE":
            return Variable(str(token), at)
        return Constant(int(token) if token.type == "INTEGER" else str(token).strip('"'), at)

    def word(self, name: Token) -> tuple[Token, Any]:
        return name, None

    def over_variables(self, name: Token, *variables: Token) -> tuple[Token, Any]:
        return name, tuple(Variable(str(token), _position(token)) for token in variables)

    def call(self, name: Token, *arguments: Token | None) -> tuple[Token, Any]:
        return name, tuple(int(token) for token in arguments if token is not None)

    def network(self, name: Token) -> tuple[Token, Any]:
        return name, "network"


def _read_weight(token: Token | None) -> str | float | None:
    if token is None:
        return None
    return float(token) if token.type in ("INTEGER", "FLOAT") else str(token)


def _read_options(options: list[tuple[Token, Any]]) -> Options:
    """Sort the words behind `|` into combination, transformation and aggregation."""
    pending = list(options)
    combination = "sum"
    if pending and _is_combination(pending):
        combination = str(pending.pop(0)[0])
    transformation = IDENTITY
    if pending and not _is_aggregation(*pending[0]):
        transformation = _read_transformation(*pending.pop(0))
    aggregation, variables = "avg", ()
    if pending:
        name, variables = pending.pop(0)
        aggregation = str(name)
    return Options(combination, transformation, aggregation, variables or ())


def _is_combination(options: list[tuple[Token, Any]]) -> bool:
    name, arguments = options[0]
    if arguments is not None or name not in COMBINATIONS:
        return False
    return name not in AGGREGATIONS or any(_is_aggregation(*option) for option in options[1:])


def _is_aggregation(name: Token, arguments: Any) -> bool:
    over_variables = isinstance(arguments, tuple) and all(isinstance(v, Variable) for v in arguments)
    return name in AGGREGATIONS and (
        bool(arguments) and over_variables if name == "softmax" else not arguments
    )


def _read_transformation(name: Token, arguments: Any) -> Transformation:
    if arguments == "network":
        return Transformation(str(name), is_network=True)
    return Transformation(str(name), tuple(arguments or ()))
