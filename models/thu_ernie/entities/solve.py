"""The row that makes an edited fact score first while the entity's other facts keep their lead, in closed form.

A fact (s, r, o) scores (s + r) . o, as TransE (Bordes et al., 2013) ranks objects on a sphere, so each lead of an
object over a rival is linear in the row of s. The new row is the nearest one whose leads are as large as they have to
be: least squares with inequalities, min |d|^2 with A d >= b (Lawson and Hanson, Solving Least Squares Problems, 1974,
chapter 23). Its dual, max b.u - |A'u|^2 / 2 with u >= 0, has one unknown for each lead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
ITERATIONS = 400  # of the accelerated ascent; what is left of a shortfall then is below 1 % in tests
SLACK = 1.02  # by how much the demands are raised so that what is left falls short of nothing


@dataclass(frozen=True)
class FactRow:
    """One fact of the entity whose row is solved.

    Attributes:
        step: Row of the relation.
        object: Row of the object.
        is_new: Whether the edit says it, so that it has to lead by the full margin.
    """

    step: Vector
    object: Vector
    is_new: bool


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
    gram = leads @ leads.T
    step = 1 / max(np.linalg.eigvalsh(gram)[-1], 1e-12)
    weights = previous = np.zeros(len(leads))
    for number in range(ITERATIONS):
        ahead = weights + number / (number + 3) * (weights - previous)
        previous, weights = weights, np.maximum(0, ahead + step * (SLACK * demands - gram @ ahead))
    solution: Vector = row + leads.T @ weights
    return solution


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
            present = float((row + fact.step) @ lead)
            is_full = fact.is_new or any(other.is_new and other.object is rival for other in facts)
            leads.append(lead)
            demands.append((margin if is_full else min(present, margin)) - present)
    return np.array(leads), np.array(demands)
