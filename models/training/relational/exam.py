"""The exam of a trained reader, and the confidence of its answers.

Every group is asked in the words of the third writer, which training has not read, about hops, compositions and
relations that it never saw. An answer is right if it is the expected one to the letter; a right answer is faithful if
its path is the one that the question asks for. The confidence is fitted on relations for practice that no weight was
trained on.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from models.confidence import Confidence
from models.relational.answer import Answerer, Reading, Sources
from models.relational.checkpoint import Model
from models.relational.neighbours import EntityNeighbours
from models.relational.network import RelationalNetwork
from models.relational.question import TextReader
from models.system import Reason, Reply
from models.training.kit.card import percent
from models.training.kit.scale import fit_scale
from models.training.relational.compositions import Path, is_inverse
from models.training.relational.examples import Example, ExampleMaker
from models.training.relational.pack import PackQuestions
from models.training.relational.plan import Plan

BATCH = 32


@dataclass(frozen=True)
class Outcome:
    """One question and its answer."""

    example: Example
    reading: Reading | Reason
    reply: Reply

    @property
    def is_right(self) -> bool:
        """Return whether the answer is the expected one, or is rightly withheld."""
        return self.reply.answer == self.example.expected

    @property
    def is_best_right(self) -> bool:
        """Return whether the best answer is right, whatever the threshold says."""
        return self.reply.best == self.example.expected

    @property
    def is_faithful(self) -> bool:
        """Return whether the best path is the one that the question asks for."""
        if isinstance(self.reading, Reason) or not self.reading.candidates:
            return False
        return tuple(step.label for step in self.reading.candidates[0].steps) == self.example.labels


@dataclass(frozen=True)
class Figures:
    """Measures of one group, in per cent.

    Attributes:
        n: Number of questions.
        right: Answers that are right to the letter, or rightly withheld.
        best: Best answers that are right, before the threshold; unanswerable questions have none.
        faithful: Share of the right answers that rest on the path that the question asks for.
    """

    n: int
    right: float
    best: float
    faithful: float


def put(answerer: Answerer, examples: Sequence[Example]) -> list[Outcome]:
    """Ask questions as the system does."""
    outcomes: list[Outcome] = []
    for start in range(0, len(examples), BATCH):
        part = examples[start : start + BATCH]
        sources = [Sources(EntityNeighbours.of_entities(example.entities)) for example in part]
        readings = answerer.read([example.ask for example in part], sources)
        outcomes += [
            Outcome(example, reading, answerer.reply(reading))
            for example, reading in zip(part, readings, strict=True)
        ]
    return outcomes


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Count a group."""
    answers = [o for o in outcomes if o.is_right and o.reply.answer is not None]
    return Figures(
        len(outcomes),
        percent(outcome.is_right for outcome in outcomes),
        percent(outcome.is_best_right for outcome in outcomes),
        percent(outcome.is_faithful for outcome in answers),
    )


def groups(
    plan: Plan,
    maker: ExampleMaker,
    new_relations: ExampleMaker,
    pack: PackQuestions,
    inverse: ExampleMaker | None = None,
) -> Mapping[str, list[Example]]:
    """Draw the questions of the exam.

    Args:
        plan: Seed, and size of each group.
        maker: Asks in the words of the third writer for relations of training.
        new_relations: Asks for paths over relations of which training saw none.
        pack: Asks about the facts of the pack.
        inverse: Asks for subjects, too, where the reader walks back.
    """
    examples: dict[str, list[Example]] = {}
    for hops in range(1, plan.config.hops + 1):
        examples[f"{hops} hops"] = _draw(plan, maker, hops, False, False)
        examples[f"{hops} hops, unanswerable"] = _draw(plan, maker, hops, False, True)
        if hops > 1:
            examples[f"{hops} hops, new composition"] = _draw(plan, maker, hops, True, False)
        rng = random.Random(f"{plan.seed}/exam/pack/{hops}")
        examples[f"{hops} hops, facts of the pack"] = [
            pack.draw(hops, False, rng) for _ in range(plan.n_exam)
        ]
    examples["1 hops, new relation"] = _draw(plan, new_relations, 1, False, False)
    examples["2 hops, new relations"] = _draw(plan, new_relations, 2, False, False)
    if inverse:
        for hops in range(1, plan.config.hops + 1):
            examples[f"{hops} hops, with a subject"] = _draw(plan, inverse, hops, False, False)
            examples[f"{hops} hops, with a subject, unanswerable"] = _draw(plan, inverse, hops, False, True)
    for form, count, yes_no in (("count", 1.0, 0.0), ("yes_no", 0.0, 1.0)):
        of_form = replace(maker, mixture=replace(maker.mixture, count=count, yes_no=yes_no))
        examples[form] = _draw(plan, of_form, 1, False, False) + _draw(plan, of_form, 2, False, False)
    return examples


def _draw(plan: Plan, maker: ExampleMaker, hops: int, is_held: bool, is_broken: bool) -> list[Example]:
    rng = random.Random(f"{plan.seed}/exam/{hops}/{is_held}/{is_broken}")
    paths = (_draw_path(maker, hops, is_held, rng) for _ in range(plan.n_exam))
    return [maker.make(path, rng, is_broken) for path in paths]


def _draw_path(maker: ExampleMaker, hops: int, is_held: bool, rng: random.Random) -> Path:
    """Draw a path; if the maker asks for subjects, the path leads to a subject at one hop."""
    while True:
        path = maker.compositions.draw(hops, is_held, rng)
        if not maker.compositions.inverse or any(is_inverse(relation.id) for relation in path):
            return path


NO_SCALE = Confidence((1.0, 1.0, 0.0), 0.0, 0.0)  # path, start and form (models/relational/answer.py)


def calibrate(
    plan: Plan, network: RelationalNetwork, reader: TextReader, makers: tuple[ExampleMaker, ...]
) -> Confidence:
    """Fit the scale on as many questions of each maker as a group of the exam has, and set the threshold."""
    rng = random.Random(f"{plan.seed}/calibrate")
    examples = [maker.draw(rng) for maker in makers for _ in range(plan.n_exam)]
    outcomes = put(Answerer(Model(network, reader, NO_SCALE)), examples)
    rows, is_right = [], []
    for outcome in outcomes:
        if isinstance(outcome.reading, Reading) and outcome.reading.candidates:
            rows.append(outcome.reading.features(outcome.reading.candidates[0]))
            is_right.append(outcome.is_best_right)
    return fit_scale(rows, is_right, plan.max_declined)
