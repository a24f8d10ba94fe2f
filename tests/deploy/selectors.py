"""Which series an expression of an alert looks at, and whether a page has any of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.deploy.observed import RECORDED

OURS = re.compile(r"(?<![\w:])(errata_\w+)(?![\w:])(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
A_FAILURE = "5.."  # of a status there is no series before the first of it


@dataclass(frozen=True)
class Selector:
    """text: as it stands in the expression. wanted: label, operator, value."""

    text: str
    name: str
    wanted: tuple[tuple[str, str, str], ...]

    def finds(self, samples: Iterable[Sample]) -> bool:
        return any(one.name == self.name and self._matches(one.labels) for one in samples)

    def _matches(self, labels: Mapping[str, str]) -> bool:
        return all(_holds(labels.get(label, ""), how, value) for label, how, value in self.wanted)


def _holds(actual: str, how: str, wanted: str) -> bool:
    if how == "=~":
        return re.fullmatch(wanted, actual) is not None
    return (actual == wanted) == (how == "=")


def selectors(expr: str) -> set[Selector]:
    """Of our metrics, those included that the rules it asks for look at."""
    asked = [made for rule, made in RECORDED.items() if rule in expr]
    here = {Selector(found[0], found[1], _wanted(found[2] or "")) for found in OURS.finditer(expr)}
    return here.union(*map(selectors, asked))


def _wanted(matchers: str) -> tuple[tuple[str, str, str], ...]:
    found = [match.groups() for match in MATCHER.finditer(matchers)]
    return tuple((label, how, value) for label, how, value in found if value != A_FAILURE)


def samples(page: str) -> list[Sample]:
    return [one for family in text_string_to_metric_families(page) for one in family.samples]
