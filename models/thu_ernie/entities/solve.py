"""The row that makes an edited fact score first while the entity's other facts keep their lead, in closed form.

A fact (s, r, o) scores (s + r) . o, as TransE (Bordes et al., 2013) ranks objects on a sphere, so each lead of an
object over a rival is linear in the row of s. The new row is the nearest one whose leads are as large as they have to
be: least squares with inequalities, min |d|^2 with A d >= b (Lawson and Hanson, Solving Least Squares Problems, 1974,
chapter 23). Its dual, max b.u - |A'u|^2 / 2 with u >= 0, has one unknown for each lead.

The ledger keeps the checksum of solved rows, so they have the same bits on every processor: each sum is taken in one
order, as separate products and additions. A matrix product (BLAS, torch) adds up in another order on another processor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

Vector = NDArray[np.float64]
N_RIVALS = 8  # objects nearest to where a new fact leads that it has to lead
ITERATIONS = 4_000  # most iterations of the accelerated ascent; some hundred are common
CHECK_EVERY = 50  # iterations
SLACK = 0.02  # share of the margin by which demands are raised, so that the ascent may stop a little short of them


@dataclass(frozen=True)
class FactRow:
    """One fact of the entity whose row is solved."""

    step: Vector  # row of the relation
    object: Vector  # row of the object
    is_new: bool  # whether the edit says it, so that it has to lead by the full margin


def solve_row(row: Vector, facts: Sequence[FactRow], rivals: NDArray[np.float64], margin: float) -> Vector:
    """Return the nearest row with which each fact leads its rivals.

    Args:
        row: The row without the edit.
        facts: All facts of the entity after the edit.
        rivals: Rows of further objects that new facts have to lead [rival, size].
        margin: Lead of a new fact. A fact that stands keeps its lead where that is smaller.
    """
    leads, demands = _list_leads(row, facts, rivals, margin)
    if not len(leads):
        return row
    gram = np.stack([_inner(leads, lead) for lead in leads])
    step = 1 / max(float(np.sqrt((gram * gram).sum())), 1e-12)  # no more than 1 / the largest eigenvalue
    targets = demands + SLACK * margin
    weights = previous = np.zeros(len(leads))
    pace = 0  # iterations since the momentum was last dropped, as it is where it leads downhill
    for number in range(ITERATIONS):
        ahead = weights + pace / (pace + 3) * (weights - previous)
        gradient = targets - _combine(gram, ahead)
        previous, weights = weights, np.maximum(0, ahead + step * gradient)
        pace = 0 if (gradient * (weights - previous)).sum() < 0 else pace + 1
        if number % CHECK_EVERY == 0 and bool((_combine(gram, weights) >= demands).all()):
            break
    solution: Vector = row + _combine(leads, weights)
    return solution


def _combine(rows: NDArray[np.float64], weights: Vector) -> Vector:
    """Return the weighted sum of rows, added up one after the other."""
    places = np.flatnonzero(weights)
    total: Vector = np.add.reduce(rows[places] * weights[places, None], axis=0)
    return total


def _inner(rows: NDArray[np.float64], row: Vector) -> Vector:
    """Return the inner product of each row with another one."""
    products: Vector = (rows * row).sum(1)
    return products


def _list_leads(
    row: Vector, facts: Sequence[FactRow], rivals: NDArray[np.float64], margin: float
) -> tuple[NDArray[np.float64], Vector]:
    """Return o - c for each fact and rival, and by how much each lead has to grow; less than 0 is room."""
    leads: list[Vector] = []
    demands: list[float] = []
    for fact in facts:
        other_objects = [other.object for other in facts if other.step is not fact.step]
        for rival in [*other_objects, *(rivals if fact.is_new else ())]:
            lead = fact.object - rival
            if not lead.any():
                continue
            present = float(((row + fact.step) * lead).sum())
            is_full = fact.is_new or any(other.is_new and other.object is rival for other in facts)
            leads.append(lead)
            demands.append((margin if is_full else min(present, margin)) - present)
    return np.array(leads), np.array(demands)


def solve_facts(
    row: Float[Tensor, " size"],
    steps: Mapping[str, Float[Tensor, " size"]],
    objects: Mapping[str, Float[Tensor, "_ size"]],
    candidates: Mapping[str, Float[Tensor, "_ size"]],
    margin: float,
) -> Float[Tensor, " size"]:
    """Return the nearest row that says new facts beside those that it says already.

    Args:
        row: The row of the entity.
        steps: Relation -> its row.
        objects: Relation -> rows of its objects after the edit.
        candidates: Relations of the new facts -> rows of the objects that they have anywhere.
        margin: Lead of a new fact.
    """
    facts = []
    for relation, rows in objects.items():
        step = steps[relation].double().numpy()
        facts += [FactRow(step, object, relation in candidates) for object in rows.double().numpy()]
    rivals = [
        _nearest(row + steps[relation], rows, objects[relation]) for relation, rows in candidates.items()
    ]
    solution = solve_row(row.double().numpy(), facts, torch.cat(rivals).double().numpy(), margin)
    return torch.from_numpy(solution).float()


def mean_row(rows: Float[Tensor, "row size"]) -> Float[Tensor, " size"]:
    """Return the mean of some rows."""
    return torch.from_numpy(np.add.reduce(rows.double().numpy(), axis=0) / len(rows)).float()


def _nearest(
    place: Float[Tensor, " size"],
    candidates: Float[Tensor, "candidate size"],
    objects: Float[Tensor, "object size"],
) -> Float[Tensor, "rival size"]:
    """Return the candidates that score highest where an entity's row leads to, without the right ones."""
    scores = _inner(candidates.double().numpy(), place.double().numpy())
    nearest = candidates[np.argsort(-scores, kind="stable")[:N_RIVALS]]
    is_right = (nearest[:, None] == objects[None]).all(-1).any(1)
    return nearest[~is_right]
