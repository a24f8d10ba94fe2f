"""Constraints that models use by name, written in the rule language itself.

In a body, `window(2)` and `causal` speak of the last two terms of the head, query and key, counted from 0:

- `causal`: a query sees itself and all keys before it;
- `window(n)`: itself and the n keys before it, n + 1 in all; `last(n)`: n keys, itself among them;
- `stride(n)`: itself and each n-th key before it (Child et al., arXiv:1904.10509, section 4.2, without their window);
- `segment_memory(m)`: keys are m states of a memory, then the tokens of the segment; a real token sees all of the
  memory and all real tokens (ERNIE-Doc, Ding et al., arXiv:2012.15688, section 3.2). Facts: `real(token)`;
- `branch_visible`: the visible matrix of K-BERT (Liu et al., arXiv:1909.07606, equation 4; `models.kbert.row`). Facts:
  `branch(token, number)`, 0 for the sentence itself, and `anchor(token, word)`.
"""

from dataclasses import replace

from models.rules.syntax import Term, Variable
from tests.parity.rules.parse import parse
from tests.parity.rules.syntax import Literal, Program, Rule

DEFINITIONS = """
causal(I,J) <= leq(J,I)
window(I,J,N) <= sub(I,J,D), geq(D,0), leq(D,N)
last(I,J,N) <= sub(I,J,D), geq(D,0), lt(D,N)
stride(I,J,N) <= sub(I,J,D), geq(D,0), mod(D,N,0)
segment_memory(I,J,M) <= real(I), lt(J,M)
segment_memory(I,J,M) <= real(I), sub(J,M,K), real(K)
branch_visible(I,J) <= branch(I,B), branch(J,B)
branch_visible(I,J) <= branch(I,0), anchor(I,A), anchor(J,A)
branch_visible(I,J) <= branch(J,0), anchor(I,A), anchor(J,A)
"""
MACROS = parse(DEFINITIONS).clauses


def expand(program: Program) -> Program:
    """Replace every macro by a new relation, and add the rules of that relation."""
    definitions: dict[str, list[Rule]] = {}
    rules = [_expand_rule(rule, definitions) for rule in program.rules]
    return replace(program, rules=(*rules, *(rule for clauses in definitions.values() for rule in clauses)))


def _expand_rule(rule: Rule, definitions: dict[str, list[Rule]]) -> Rule:
    body = tuple(
        _expand_literal(literal, rule.head, definitions) if literal.relation in MACROS else literal
        for literal in rule.body
    )
    return replace(rule, body=body)


def _expand_literal(literal: Literal, head: Literal, definitions: dict[str, list[Rule]]) -> Literal:
    clauses = MACROS[literal.relation]
    parameters = len(clauses[0].head.terms) - 2
    terms = literal.terms
    if len(terms) == parameters:
        terms = (*head.terms[-2:], *terms)
    numbers = list(terms[2:])
    name = ":".join([literal.relation, *map(str, numbers)])  # no other relation is written so
    definitions[name] = [_specialise(clause, name, numbers) for clause in clauses]
    return Literal(name, terms[:2], literal.at, is_hidden=True)


def _specialise(clause: Rule, name: str, numbers: list[Term]) -> Rule:
    """Write the numbers of one use in the places of the macro's parameters."""
    values: dict[str, Term] = dict(
        zip((term.name for term in clause.head.variables[2:]), numbers, strict=True)
    )

    def substitute(term: Term) -> Term:
        return values.get(term.name, term) if isinstance(term, Variable) else term

    body = tuple(
        replace(literal, terms=tuple(map(substitute, literal.terms)), is_hidden=True)
        for literal in clause.body
    )
    return Rule(replace(clause.head, relation=name, terms=clause.head.terms[:2]), body)
