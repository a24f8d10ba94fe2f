"""Mistakes of a program, found before any fact is joined: each error names the place in the text and what to do."""

from collections.abc import Mapping

from models.rules.facts import Facts
from models.rules.special import ARITIES, NAMES, NUMERIC, VARIADIC
from models.rules.syntax import Constant, Literal, Program, RuleError, Variable


def check(program: Program, facts: Facts) -> None:
    """Check the relations of a program.

    RuleError: a relation is unknown, has a wrong number of terms or depends on itself, or a term is no number
    where a number is needed.
    """
    arity_by_relation = _collect_arities(program, facts)
    for rule in program.rules:
        for literal in rule.body:
            _check_literal(literal, arity_by_relation)
    _refuse_cycles(program)


def _collect_arities(program: Program, facts: Facts) -> dict[str, int]:
    arity_by_relation = facts.arities
    for rule in program.rules:
        name, arity = rule.head.relation, len(rule.head.terms)
        if name in facts.relations:
            raise RuleError(f"{name} has facts and a rule; name the head otherwise", rule.at)
        if name in NAMES:
            raise RuleError(f"{name} is a special relation; name the head otherwise", rule.at)
        if arity_by_relation.setdefault(name, arity) != arity:
            raise RuleError(f"{name} has {arity_by_relation[name]} terms elsewhere and {arity} here", rule.at)
    return arity_by_relation


def _check_literal(literal: Literal, arity_by_relation: Mapping[str, int]) -> None:
    name, arity = literal.relation, len(literal.terms)
    if name in VARIADIC:
        if arity < VARIADIC[name]:
            raise RuleError(f"{name} takes {VARIADIC[name]} terms or more, not {arity}", literal.at)
        return
    expected = ARITIES.get(name, arity_by_relation.get(name))
    if expected is None:
        names = ", ".join(sorted(arity_by_relation)) or "none"
        message = f"unknown relation {name}: it has no rule and no facts; there are {names}"
        raise RuleError(message, literal.at)
    if arity != expected:
        raise RuleError(f"{name} takes {expected} terms, not {arity}", literal.at)
    if name in NUMERIC:
        _check_numbers(literal)


def _check_numbers(literal: Literal) -> None:
    for term in literal.terms:
        if isinstance(term, Constant) and isinstance(term.value, str):
            raise RuleError(f"{literal.relation} compares numbers, and {term} is none", term.at)
    if literal.relation == "mod":
        divisor = literal.terms[1]
        if not isinstance(divisor, Constant) or not isinstance(divisor.value, int) or divisor.value <= 0:
            raise RuleError(
                f"the divisor of mod has to be a positive whole number, not {divisor}", divisor.at
            )


def _refuse_cycles(program: Program) -> None:
    clauses, finished = program.clauses, set[str]()

    def visit(name: str, path: tuple[Literal, ...]) -> None:
        names = [literal.relation for literal in path]
        if name in names:
            raise _describe_cycle(program, path[names.index(name) :])
        if name in finished or name not in clauses:
            return
        for rule in clauses[name]:
            for literal in rule.body:
                visit(literal.relation, (*path, Literal(name, (), literal.at)))
        finished.add(name)

    for name in clauses:
        visit(name, ())


def _describe_cycle(program: Program, path: tuple[Literal, ...]) -> RuleError:
    names = [literal.relation for literal in path]
    is_softmax = any(
        rule.options.aggregation == "softmax" for name in names for rule in program.clauses[name]
    )
    through = " through a softmax" if is_softmax else ""
    chain = " <= ".join([*names, names[0]])
    return RuleError(f"{names[0]} depends on itself{through}: {chain}; break the cycle", path[-1].at)


def unbound(variable: Variable, where: Literal) -> RuleError:
    """Make the error of a variable that no relation of the body binds."""
    message = f"unbound variable {variable} in {where}: no relation with facts in this body gives it a value"
    return RuleError(message, variable.at)
