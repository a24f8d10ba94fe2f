"""The series that an expression of an alert reads, and whether a page has any of them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.deploy.test_prometheus import RECORDING_RULES

METRIC = re.compile(r"(?<![\w:])(errata_\w+)(?![\w:])(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
A_FAILURE = "5.."  # a status has no series before its first request


@dataclass(frozen=True)
class Selector:
    """A selector. text: as written in the expression. matchers: label, operator, value."""

    text: str
    name: str
    matchers: tuple[tuple[str, str, str], ...]

    def finds(self, samples: Iterable[Sample]) -> bool:
        return any(sample.name == self.name and self._matches(sample.labels) for sample in samples)

    def _matches(self, labels: Mapping[str, str]) -> bool:
        return all(
            _matches_value(labels.get(label, ""), operator, value) for label, operator, value in self.matchers
        )


def _matches_value(actual: str, operator: str, value: str) -> bool:
    if operator == "=~":
        return re.fullmatch(value, actual) is not None
    return (actual == value) == (operator == "=")


def find_selectors(expr: str) -> set[Selector]:
    """Return the selectors of Errata's metrics in an expression, and those of the recording rules that it uses."""
    expressions = [expression for rule, expression in RECORDING_RULES.items() if rule in expr]
    selectors = {
        Selector(match[0], match[1], _parse_matchers(match[2] or "")) for match in METRIC.finditer(expr)
    }
    return selectors.union(*map(find_selectors, expressions))


def _parse_matchers(matchers: str) -> tuple[tuple[str, str, str], ...]:
    groups = [match.groups() for match in MATCHER.finditer(matchers)]
    return tuple((label, how, value) for label, how, value in groups if value != A_FAILURE)


def samples(page: str) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(page) for sample in family.samples]
