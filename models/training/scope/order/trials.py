"""Trials of the judge in which order decides: two names exchanged, another figure."""

import random
from collections.abc import Sequence

from models.training.scope.order.frames import SLOT, Frame, Frames, Sort, put_names
from models.training.scope.trials import Trial

TURNED_NAMES, OTHER_FIGURE, OTHER_QUESTION = "names exchanged", "another figure", "another question"
N_PAIRS = 3  # pairs of names of a frame


def ask_order(frames: Frames, seed: int) -> Trial:
    """Edit each frame for some pairs of names; ask in other words, with the names exchanged, and other questions."""
    rng, trial = random.Random(seed), Trial("order of names")
    for frame in frames.frames:
        for _ in range(N_PAIRS):
            first, *same = _in_all_wordings(frame, names := frames.draw_names(frame, rng), rng)
            turns = _in_all_wordings(frame, names[::-1], rng)
            if frame.is_symmetric:
                same, turns = [*same, *turns], []
            trial.edit(first, (text for text in same if text != first))
            trial.ask(TURNED_NAMES, turns)
            other_questions = rng.sample(frame.other_questions, min(2, len(frame.other_questions)))
            trial.ask(OTHER_QUESTION, (put_names(text, *names) for text in other_questions))
    return trial


def _in_all_wordings(frame: Frame, names: tuple[str, str], rng: random.Random) -> list[str]:
    return [put_names(rng.choice(wording), *names) for wording in frame.wordings]


def ask_figures(sorts: Sequence[Sort], seed: int) -> Trial:
    """Edit each question for one figure, and ask for it in other words and spellings, and for another figure."""
    rng, trial = random.Random(seed), Trial("figures and signs")
    for sort, wordings in ((s, wordings) for s in sorts for wordings in s.questions):
        (spelling, *spellings), other_spellings = rng.choice(sort.figures)
        first, *further = wordings
        same = [wording.replace(SLOT, spelling) for wording in further]
        trial.edit(first.replace(SLOT, spelling), [*same, *(first.replace(SLOT, way) for way in spellings)])
        later = rng.choice(wordings).replace(SLOT, rng.choice(other_spellings))
        trial.ask(OTHER_FIGURE, [first.replace(SLOT, other_spellings[0]), later])
    return trial
