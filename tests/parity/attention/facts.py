"""Facts with values, which carry gradients, and their text.

Sourek et al. (arXiv:1508.05128), section 3: an example is a set of ground facts with values; without one, the value 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from models.rules import facts as ground
from models.rules.facts import SYMBOL


@dataclass(frozen=True, eq=False)
class Relation(ground.Relation):
    """The facts of one relation."""

    # A matrix for each fact, a vector being one column; None where every value is 1
    values: Float[Tensor, "fact rows columns"] | None = None

    @staticmethod
    def of_vectors(vectors: Float[Tensor, "token size"]) -> "Relation":
        """Make the facts name(0), name(1), ... with one vector each."""
        return Relation(torch.arange(len(vectors), device=vectors.device)[:, None], vectors[..., None])

    @staticmethod
    def nullary(value: float | Tensor, dtype: torch.dtype = torch.float32) -> "Relation":
        """Make the only fact of a relation without terms, such as the scale of scores."""
        matrix = torch.as_tensor(value, dtype=dtype).reshape(1, 1, 1)
        return Relation(torch.zeros(1, 0, dtype=torch.long, device=matrix.device), matrix)

    def to(self, device: torch.device) -> "Relation":
        """Copy the facts to a device, unless they lie there."""
        return Relation(self.terms.to(device), None if self.values is None else self.values.to(device))


@dataclass(frozen=True, eq=False)
class Facts(ground.Facts):
    """All facts of one example; never changed.

    ValueError: a value is not finite, or a fact stands twice with different values.
    """

    relations: Mapping[str, Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        relations = {name: _deduplicate(name, relation) for name, relation in self.relations.items()}
        object.__setattr__(self, "relations", relations)

    @staticmethod
    def of_rows(rows: Iterable[tuple[str, tuple[int | str, ...], tuple[float, ...]]]) -> "Facts":
        """Gather rows of relation, terms and value; an empty value is 1.

        ValueError: facts of one relation differ in the number of terms or in the size of their values.
        """
        rows_by_relation: dict[str, list[tuple[tuple[int | str, ...], tuple[float, ...]]]] = {}
        for name, terms, value in rows:
            rows_by_relation.setdefault(name, []).append((terms, value))
        every_term = (term for facts in rows_by_relation.values() for terms, _ in facts for term in terms)
        symbols = tuple(sorted({term for term in every_term if isinstance(term, str)}))
        numbers = {symbol: SYMBOL + place for place, symbol in enumerate(symbols)}
        return Facts(
            {name: _stack(name, facts, numbers) for name, facts in rows_by_relation.items()}, symbols
        )

    @staticmethod
    def read(text: str) -> "Facts":
        """Read lines of relation, terms and value, divided by tabs; an empty value is 1, a vector has spaces.

        ValueError: a line has no value column, or a value is no number.
        """
        return Facts.of_rows(
            _read_line(number, line)
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip() and not line.startswith("#")
        )

    def to(self, device: torch.device) -> "Facts":
        """Copy all facts to a device, unless they lie there."""
        if all(relation.terms.device == device for relation in self.relations.values()):
            return self
        return Facts({name: relation.to(device) for name, relation in self.relations.items()}, self.symbols)


def _read_line(number: int, line: str) -> tuple[str, tuple[int | str, ...], tuple[float, ...]]:
    name, *terms, value = line.split("\t") if "\t" in line else (line, None)
    if value is None:
        raise ValueError(
            f"line {number}: a fact needs its relation, its terms and its value, divided by tabs"
        )
    try:
        values = tuple(map(float, value.split()))
    except ValueError as error:
        raise ValueError(f"line {number}: the value {value!r} is no number") from error
    return name, tuple(int(term) if term.lstrip("-").isdecimal() else term for term in terms), values


def _stack(
    name: str, facts: list[tuple[tuple[int | str, ...], tuple[float, ...]]], numbers: Mapping[str, int]
) -> Relation:
    if len({len(terms) for terms, _ in facts}) > 1:
        raise ValueError(f"facts of {name} differ in the number of their terms")
    values = [value or (1.0,) for _, value in facts]
    if len(set(map(len, values))) > 1:
        raise ValueError(f"facts of {name} differ in the size of their values")
    terms = [[term if isinstance(term, int) else numbers[term] for term in terms] for terms, _ in facts]
    has_values = any(value for _, value in facts)
    return Relation(
        torch.tensor(terms, dtype=torch.long).reshape(len(facts), -1),
        torch.tensor(values, dtype=torch.get_default_dtype())[..., None] if has_values else None,
    )


def _deduplicate(name: str, relation: Relation) -> Relation:
    """Keep the first of equal facts."""
    values = relation.values
    if values is not None and not bool(values.detach().isfinite().all()):
        raise ValueError(f"a value of {name} is not finite")
    if len(relation) < 2 or not relation.arity:
        _refuse_if(len(relation) > 1 and relation.arity == 0, name)
        return relation
    unique, group = torch.unique(relation.terms, dim=0, return_inverse=True)
    if len(unique) == len(relation):
        return relation
    places = torch.arange(len(relation), device=group.device)
    first = places.new_full((len(unique),), len(relation)).scatter_reduce(0, group, places, "amin")
    _refuse_if(values is not None and not values.equal(values[first[group]]), name)
    places_kept = first.sort().values
    return Relation(relation.terms[places_kept], None if values is None else values[places_kept])


def _refuse_if(is_contradiction: bool, name: str) -> None:
    if is_contradiction:
        raise ValueError(f"a fact of {name} stands twice with different values; keep one of them")
