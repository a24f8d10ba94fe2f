"""Mistakes of a program whose relations have values."""

from collections.abc import Iterator

from models.rules.check import check
from models.rules.special import NAMES
from models.rules.syntax import Literal, Program, Rule, RuleError
from tests.parity.attention.facts import Facts


def check_values(program: Program, facts: Facts) -> tuple[str, ...]:
    """Check a program, and return sentences about rules that are legal and probably not intended."""
    check(program, facts)
    for rule in program.rules:
        _check_softmax(rule)
    return tuple(_warn(program, facts))


def is_valued(literal: Literal) -> bool:
    """Return whether the literal's value enters the combination of its rule."""
    return not literal.is_hidden and literal.relation not in NAMES


def _check_softmax(rule: Rule) -> None:
    for variable in rule.options.softmax_over:
        if variable not in rule.head.variables:
            message = (
                f"softmax over {variable}, which the head {rule.head} lacks; write it as a term of the head"
            )
            raise RuleError(message, variable.at)


def _warn(program: Program, facts: Facts) -> Iterator[str]:
    for name, rules in program.clauses.items():
        if sum(rule.options.aggregation == "softmax" for rule in rules) > 1:
            yield f"{name} has several softmax rules: their weights are summed, and a row may exceed 1"
        for rule in rules:
            with_value = [literal for literal in rule.body if is_valued(literal)]
            for literal in with_value if len(with_value) > 1 and rule.options.combination == "sum" else ():
                relation = facts.relations.get(literal.relation)
                if relation is not None and relation.values is None and literal.weight is None:
                    line = f"line {literal.at.line}: {literal} has no value and adds 1"
                    yield f"{line}; write hidden.{literal} if it only constrains"
