"""The reason why a pair may attend or not: the rule that allows it, or each rule's first constraint against it."""

from dataclasses import dataclass

from models.attention.rules.facts import SYMBOL
from models.attention.rules.ground import Bindings, Grounder
from models.attention.rules.syntax import Literal, Program, Rule, Variable


@dataclass(frozen=True)
class Refusal:
    """A rule that does not allow a pair.

    Args:
        constraint: The first literal that nothing satisfies; None where the head does not fit the pair.
        values: Numbers of the constraint's variables, if they are the same for all its bindings.
        reasons: Where the constraint has rules, why each of them fails.
    """

    rule: Rule
    constraint: Literal | None
    values: tuple[tuple[str, int], ...] = ()
    reasons: tuple["Refusal", ...] = ()

    def __str__(self) -> str:
        if self.constraint is None:
            return f"{self.rule.head} is a different pair"
        values = " and ".join(f"{name} = {value}" for name, value in self.values)
        text = str(self.constraint).removeprefix("hidden.") + (
            f" fails with {values}" if values else " fails"
        )
        return text + (f" ({'; '.join(map(str, self.reasons))})" if self.reasons else "")


@dataclass(frozen=True)
class Explanation:
    """The verdict of the rules on one pair.

    Args:
        rule: The first rule that allows the pair; None if none does.
        refusals: Reasons why the rules before it, or all rules, do not allow the pair.
    """

    rule: Rule | None
    refusals: tuple[Refusal, ...]

    @property
    def is_allowed(self) -> bool:
        """Whether some rule allows the pair."""
        return self.rule is not None

    def __str__(self) -> str:
        if self.rule is not None:
            return f"allowed by line {self.rule.at.line}: {self.rule}"
        lines = (f"line {refusal.rule.at.line}: {refusal}" for refusal in self.refusals)
        return "forbidden by " + "; ".join(lines)


def explain(grounder: Grounder, program: Program, literal: Literal, bindings: Bindings) -> Explanation:
    """Ask each rule of a literal in turn, until one allows some of the bindings."""
    refusals = list[Refusal]()
    for rule in program.clauses[literal.relation]:
        refusal = _ask(grounder, program, literal, rule, bindings)
        if refusal is None:
            return Explanation(rule, tuple(refusals))
        refusals.append(refusal)
    return Explanation(None, tuple(refusals))


def _ask(
    grounder: Grounder, program: Program, literal: Literal, rule: Rule, bindings: Bindings
) -> Refusal | None:
    inner = grounder.enter(literal, rule, bindings)
    if not inner.count:
        return Refusal(rule, None)
    for step in grounder.plan(rule, frozenset(inner.columns)):
        outcome = grounder.satisfy(step, inner)
        if not outcome.count:
            asks_rules = step.relation in program.clauses
            reasons = explain(grounder, program, step, inner).refusals if asks_rules else ()
            return Refusal(rule, step, _values(step, inner), reasons)
        inner = outcome
    return None


def _values(literal: Literal, bindings: Bindings) -> tuple[tuple[str, int], ...]:
    values = {}
    for term in literal.terms:
        if isinstance(term, Variable) and term.name in bindings.columns:
            column = bindings.columns[term.name]
            if bool((column == column[0]).all()) and int(column[0]) < SYMBOL:
                values[term.name] = int(column[0])
    return tuple(values.items())
