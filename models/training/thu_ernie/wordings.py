"""Wordings of the questions for a relation: the words of some writers, as people type them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from models.packs.pack import Pack
from models.training.reading.written.texts import Split, split_of
from models.training.texts.phrasings import Phrasings, leave_out, read_phrasings
from models.training.thu_ernie.question import FRAMES

TRAIN_HANDS, TEST_HANDS = (1, 2), (3,)  # writers whose words training reads, and whom only the exam does
SPLITS: tuple[Split, ...] = get_args(Split)
Ways = Sequence[str]


@dataclass(frozen=True)
class Wordings:
    """Ways to ask; each has `{subject}` once."""

    train: Mapping[str, Ways]  # wordings of the training: two writers', and the pack's phrasings
    choose: Mapping[str, Ways]  # the pack's held-out phrasings, on which the confidence is fitted
    test: Mapping[str, Ways]  # the third writer's wordings
    # Ways to ask for relations that no fact of the pack has, by their relation; the splits have no relation
    # in common
    strange: Mapping[Split, Ways]

    @staticmethod
    def of(pack: Pack) -> "Wordings":
        """Read the phrasings of a pack's relations."""
        trained, other = read_phrasings(TRAIN_HANDS), read_phrasings(TEST_HANDS)
        train, choose, test = dict[str, Ways](), dict[str, Ways](), dict[str, Ways]()
        for id, relation in pack.relations.items():
            words = trained.get(id, Phrasings((), ()))
            as_questions = [frame.replace("{noun}", noun) for noun in words.nouns for frame in FRAMES]
            if id in other:
                test[id] = other[id].questions
            choose[id] = leave_out(relation.held_out, test.get(id, ()))
            every = (*words.questions, *relation.phrasings, *as_questions)
            train[id] = leave_out(every, (*relation.held_out, *test.get(id, ())))
        return Wordings(train, choose, test, {split: tuple(_strange(pack, split)) for split in SPLITS})


def _strange(pack: Pack, split: Split) -> Iterator[str]:
    """Yield ways to ask for relations for practice; those of the test are in the words of the third writer."""
    hands = TEST_HANDS if split == "test" else TRAIN_HANDS
    for id, phrasings in read_phrasings(hands).items():
        if id not in pack.relations and split_of(id) == split:
            yield from phrasings.questions
