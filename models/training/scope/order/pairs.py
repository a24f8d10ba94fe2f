"""Training pairs in which the order of two names, or a figure, decides whether two questions are one."""

import random

from models.training.kit.plan import Plan
from models.training.scope.facts import TrainingPair
from models.training.scope.order.frames import SLOT, Frame, put_names
from models.training.scope.pairs import Draws, Source

SYMMETRIC = 0.35  # share of the pairs about frames that the exchange leaves the same
# Shares of the different pairs that are so by another question, or a name
OTHER_QUESTION, OTHER_NAME = 0.18, 0.18
ONE_WORDING = 0.25  # share of the pairs with names exchanged that are in one wording


class OrderPairs(Draws):
    """Draws such pairs."""

    def __init__(self, source: Source, plan: Plan, rng: random.Random) -> None:
        super().__init__(source, plan, rng)
        self._frames = source.frames
        self._by_symmetry = {
            is_symmetric: [frame for frame in self._frames.frames if frame.is_symmetric == is_symmetric]
            for is_symmetric in (True, False)
        }

    def draw(self, n_order: int, n_figures: int) -> list[TrainingPair]:
        """Draw pairs about the order of names, and about figures; half of each ask for the same.

        Half of those about the order are twins: two wordings with the names in one order, and exchanged.
        """
        twins = [pair for _ in range(n_order // 4) for pair in self.twins()]
        draws = [self.about_order] * (n_order - len(twins)) + [self.about_figure] * n_figures
        return twins + [draw(self.rng.random() < 0.5) for draw in draws]

    def twins(self) -> tuple[TrainingPair, TrainingPair]:
        """Draw two wordings with the names in one order and, with nothing else to tell them apart, exchanged."""
        rng, frame = self.rng, self.rng.choice(self._by_symmetry[False])
        names = self._frames.draw_names(frame, rng)
        wordings = rng.sample(frame.wordings, 2) if len(frame.wordings) > 1 else frame.wordings * 2
        wording, other = map(rng.choice, wordings)
        return (
            self._pair(wording, names, other, names, "same_order"),
            self._pair(wording, names, other, names[::-1], "exchanged"),
        )

    def about_order(self, is_same: bool) -> TrainingPair:
        """Draw a pair about two names, in one order or, where that makes no difference, in both."""
        rng = self.rng
        frame = rng.choice(self._by_symmetry[rng.random() < SYMMETRIC])
        names = self._frames.draw_names(frame, rng)
        wording, other = rng.choice(frame.wordings), rng.choice(frame.wordings)
        if not is_same:
            return self._different(frame, names, rng.choice(wording), rng.choice(other))
        later = names[::-1] if frame.is_symmetric and rng.random() < 0.6 else names
        return self._pair(rng.choice(wording), names, rng.choice(other), later, "same_order")

    def _different(self, frame: Frame, names: tuple[str, str], wording: str, other: str) -> TrainingPair:
        """Draw a pair with the names exchanged, or about another question or name."""
        rng, change = self.rng, self.rng.random()
        second = wording if rng.random() < ONE_WORDING else other
        if frame.is_symmetric:
            change *= OTHER_QUESTION + OTHER_NAME
        if frame.other_questions and change < OTHER_QUESTION:
            later = names[::-1] if rng.random() < 0.3 else names
            return self._pair(wording, names, rng.choice(frame.other_questions), later, "other_question")
        if change < OTHER_QUESTION + OTHER_NAME:
            place = rng.randrange(2)
            fresh = self._frames.draw_other(frame.kinds[place], names, rng)
            later = (fresh, names[1]) if place == 0 else (names[0], fresh)
            return self._pair(wording, names, second, later, "other_of_two")
        return self._pair(wording, names, second, names[::-1], "exchanged")

    def about_figure(self, is_same: bool) -> TrainingPair:
        """Draw a pair about one figure, at times in two spellings, or about two figures."""
        rng, sort = self.rng, self.rng.choice(self.source.sorts)
        spellings, other_spellings = rng.choice(sort.figures)
        wordings = rng.choice(sort.questions)
        figure, other = rng.choice(spellings), rng.choice(spellings if is_same else other_spellings)
        first, second = rng.choice(wordings).replace(SLOT, figure), rng.choice(wordings).replace(SLOT, other)
        return TrainingPair(first, self.noisy(second, other), is_same, "figure").turn(rng)

    def _pair(
        self, wording: str, names: tuple[str, str], other: str, later: tuple[str, str], kind: str
    ) -> TrainingPair:
        second = self.noisy(put_names(other, *later), " ".join(later))
        return TrainingPair(put_names(wording, *names), second, kind == "same_order", kind).turn(self.rng)
