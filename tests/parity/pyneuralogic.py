"""`python -m tests.parity.pyneuralogic`: what the reference makes of a program, read and answered as JSON.

It runs in a separate process: its Java machine cannot be started twice, and no process may fork after it. Pruning and
compression are off, for with them a softmax over one member returns the raw score. Each query is evaluated alone.
"""

import json
import sys
from typing import Any

from neuralogic.core import Aggregation, Combination, Model, R, Settings, Transformation, V
from neuralogic.dataset import Dataset

from models.attention.rules.parse import parse
from models.attention.rules.special import NAMES
from models.attention.rules.syntax import Literal, Options, Rule, Term, Variable

Weights = dict[str, Any]


def main() -> None:
    task = json.load(sys.stdin)
    facts = [_fact(*row) for row in task["facts"]]
    results = [_evaluate(task["rules"], task["weights"], facts, *query) for query in task["queries"]]
    json.dump(results, sys.stdout)


def _evaluate(text: str, weights: Weights, facts: list[Any], name: str, terms: list[int]) -> Any:
    """Evaluate a query; None if it has no grounding."""
    program, model = parse(text), Model()
    model += [_rule(rule, weights) for rule in program.rules]
    for head, transformation in program.transformations.items():
        arity = len(program.clauses[head][0].head.terms)
        model += [R.get(head) / arity | [_transformation(transformation.name, transformation.arguments)]]
    model.build(Settings(iso_value_compression=False, chain_pruning=False))
    results = model(model.build_dataset(Dataset().add(_relation(name, terms), [*facts])))
    return results[0] if len(results) else None


def _rule(rule: Rule, weights: Weights) -> Any:
    body = [_literal(literal, weights) for literal in rule.body]
    return (_literal(rule.head, weights) <= body) | _metadata(rule.options)


def _metadata(options: Options) -> list[Any]:
    variables = [variable.name for variable in options.softmax_over]
    aggregation = (
        Aggregation.SOFTMAX(agg_terms=variables)
        if variables
        else getattr(Aggregation, options.aggregation.upper())
    )
    transformation = _transformation(options.transformation.name, options.transformation.arguments)
    return [getattr(Combination, options.combination.upper()), transformation, aggregation]


def _transformation(name: str, arguments: tuple[int, ...]) -> Any:
    if name == "slice":
        return Transformation.SLICE(rows=arguments)
    return getattr(Transformation, {"transpose": "TRANSP"}.get(name, name.upper()))


def _literal(literal: Literal, weights: Weights) -> Any:
    factory = R.hidden if literal.is_hidden else R
    if literal.relation in NAMES:
        name = {"in": "_in", "true": "truepred"}.get(literal.relation, literal.relation)
        return getattr(R.special, name)(*map(_term, literal.terms))
    relation = factory.get(literal.relation)
    relation = relation(*map(_term, literal.terms)) if literal.terms else relation
    relation = relation.T if literal.is_transposed else relation
    if literal.weight is None:
        return relation
    value = literal.weight if isinstance(literal.weight, float) else weights[literal.weight]
    # Weights without names are different weights, and equal rules would not be equal.
    return relation[f"w{literal.weight}" : value]


def _term(term: Term) -> Any:
    return V.get(term.name) if isinstance(term, Variable) else term.value


def _relation(name: str, terms: list[int]) -> Any:
    return R.get(name)(*terms) if terms else R.get(name)


def _fact(name: str, terms: list[int], value: Any) -> Any:
    """Make a fact; hidden literals find only hidden facts, whose names begin with `hidden.`."""
    if name.startswith("hidden."):
        return R.hidden.get(name.removeprefix("hidden."))(*terms)
    fact = _relation(name, terms)
    return fact if value is None else fact[value]


if __name__ == "__main__":
    main()
