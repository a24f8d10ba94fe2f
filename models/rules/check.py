"""Mistakes of a rule, found before any fact is joined: each error names the place in the text and what to do."""

from collections.abc import Mapping

from models.rules.special import ARITIES, NUMERIC, VARIADIC
from models.rules.syntax import Constant, Literal, Rule, RuleError


def check(rule: Rule, arity_by_relation: Mapping[str, int]) -> None:
    """Check the relations of a rule's body.

    RuleError: a relation is unknown or has a wrong number of terms, or a term is no number where a number is needed.
    """
    for literal in rule.body:
        _check_literal(literal, arity_by_relation)


def _check_literal(literal: Literal, arity_by_relation: Mapping[str, int]) -> None:
    name, arity = literal.relation, len(literal.terms)
    expected = ARITIES.get(name, arity_by_relation.get(name))
    if name in VARIADIC and arity < VARIADIC[name]:
        raise RuleError(f"{name} takes {VARIADIC[name]} terms or more, not {arity}", literal.at)
    if expected is None and name not in VARIADIC:
        names = ", ".join(sorted(arity_by_relation))
        raise RuleError(f"unknown relation {name}: it has no facts; there are {names}", literal.at)
    if expected not in (None, arity):
        raise RuleError(f"{name} takes {expected} terms, not {arity}", literal.at)
    for term in literal.terms if name in NUMERIC else ():
        if isinstance(term, Constant) and isinstance(term.value, str):
            raise RuleError(f"{name} compares numbers, and {term} is none", term.at)
    divisor = literal.terms[1] if name == "mod" else None
    if divisor and not (
        isinstance(divisor, Constant) and isinstance(divisor.value, int) and divisor.value > 0
    ):
        raise RuleError(f"the divisor of mod has to be a positive whole number, not {divisor}", divisor.at)
