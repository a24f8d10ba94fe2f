"""Trials of the judge in which order decides: two names exchanged, another figure."""

import random
from collections.abc import Sequence

from models.training.scope.order.figures import SLOT, Sort
from models.training.scope.order.frames import Frame, Frames, put_names
from models.training.scope.trials import FOLLOWS, Trial, TrialQuestion

TURNED_NAMES, OTHER_FIGURE, OTHER_QUESTION = "names exchanged", "another figure", "another question"
N_PAIRS = 3  # pairs of names of a frame


def ask_order(frames: Frames, seed: int) -> Trial:
    """Edit each frame for some pairs of names; ask in other words, with the names exchanged, and other questions."""
    rng, edits, questions = random.Random(seed), list[str](), list[TrialQuestion]()
    for frame in frames.frames:
        for _ in range(N_PAIRS):
            first, *further = _in_all_wordings(frame, names := frames.draw_names(frame, rng), rng)
            same, turns = further, _in_all_wordings(frame, names[::-1], rng)
            place = len(edits)
            edits.append(first)
            if frame.is_symmetric:
                same, turns = [*same, *turns], []
            questions += [TrialQuestion(text, place, FOLLOWS) for text in same if text != first]
            questions += [TrialQuestion(text, None, TURNED_NAMES) for text in turns]
            other_questions = rng.sample(frame.other_questions, min(2, len(frame.other_questions)))
            questions += [
                TrialQuestion(put_names(text, *names), None, OTHER_QUESTION) for text in other_questions
            ]
    return Trial("order of names", tuple(edits), tuple(questions))


def _in_all_wordings(frame: Frame, names: tuple[str, str], rng: random.Random) -> list[str]:
    return [put_names(rng.choice(wording), *names) for wording in frame.wordings]


def ask_figures(sorts: Sequence[Sort], seed: int) -> Trial:
    """Edit each question for one figure, and ask for it in other words and spellings, and for another figure."""
    rng, edits, questions = random.Random(seed), list[str](), list[TrialQuestion]()
    for sort in sorts:
        for wordings in sort.questions:
            spellings, other_spellings = rng.choice(sort.figures)
            place = len(edits)
            edits.append(wordings[0].replace(SLOT, spellings[0]))
            same = [wording.replace(SLOT, spellings[0]) for wording in wordings[1:]]
            same += [wordings[0].replace(SLOT, spelling) for spelling in spellings[1:]]
            questions += [TrialQuestion(text, place, FOLLOWS) for text in same]
            other_figures = [
                wordings[0].replace(SLOT, other_spellings[0]),
                rng.choice(wordings).replace(SLOT, rng.choice(other_spellings)),
            ]
            questions += [TrialQuestion(text, None, OTHER_FIGURE) for text in other_figures]
    return Trial("figures and signs", tuple(edits), tuple(questions))
