"""The trials that a judge is calibrated and chosen by: relations, names and facts that no weight was trained on.

Crowds are invented, real, or real names whose words and syllables change places; questions are whole, or begin a
sentence that the answer completes, at times behind another sentence.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from models.training.kit.plan import Plan
from models.training.scope.crowds.crowd import SIZE, Crowd, RealCrowds, invent_crowd
from models.training.scope.order.frames import split_frames
from models.training.scope.order.trials import ask_order
from models.training.scope.relations import ById, Read, in_other_words
from models.training.scope.rewrites import Rewriter
from models.training.scope.trials import (
    Trial,
    ask_written,
    edit_crowds,
    edit_half,
    edit_one_each,
    read_groups_trial,
    read_near,
    read_qaedit,
)
from models.training.scope.written import WrittenFact, WrittenFacts, read_facts, read_groups, split_facts

FEWEST = 4  # names of a type, and of a crowd
BEHIND_SENTENCE = 0.7  # share of such questions that stand behind another sentence
SHORTEST = 4  # letters of a word that is cut in two


def split_written(plan: Plan, sets: Path, read: Read) -> WrittenFacts:
    """Deal all written facts to training and choosing; those that resemble a test's are left out.

    The groups in the voice that is kept for the test are not among them; `sets` is the folder of the editing sets.
    """
    tests = (read_near(), read_qaedit(sets), read_groups_trial(sets))
    held_out = [edit for trial in tests for edit in trial.edits]
    groups = (file for file in sorted((sets / "groups").glob("*.jsonl")) if file.stem != plan.held_voice)
    return split_facts([*read_facts(), *read_groups(groups)], plan.n_choose_facts, plan.seed, held_out, read)


@dataclass(frozen=True)
class Choosing:
    """What the trials are made of."""

    relations: ById  # relations for choosing
    names: Sequence[str]  # names for choosing
    by_type: Mapping[str, Sequence[str]]  # the same names by the type of their subject
    facts: Sequence[WrittenFact]  # written facts for choosing
    statements: Sequence[str]  # sentences that say something else
    rewriter: Rewriter  # writes questions as sentences to complete
    seed: int  # seed of the draws

    def make_trials(self) -> list[Trial]:
        """Make all trials."""
        relations, names, seed = self.relations, self.names, self.seed
        facts = ask_written(self.facts)
        crowds = ((invent_crowd, 3), (RealCrowds(self.by_type).draw, 2), (self._recombine, 3))
        return [
            edit_one_each(relations, names, seed),
            edit_half(relations, names, seed),
            edit_half(in_other_words(relations, seed), names, seed + 1),
            facts,
            self._complete(edit_half(relations, names, seed + 2)),
            self._put_behind(self._complete(edit_half(relations, names, seed + 3))),
            self._put_behind(self._complete(facts)),
            ask_order(split_frames(seed)[1], seed),
            *(edit_crowds(relations, draw, seed + place) for draw, count in crowds for place in range(count)),
        ]

    def _complete(self, trial: Trial) -> Trial:
        """Return the trial with beginnings of sentences instead of questions."""
        write = self.rewriter.as_sentence
        return _rewrite(replace(trial, edits=list(map(write, trial.edits))), write)

    def _put_behind(self, trial: Trial) -> Trial:
        """Return the trial with most of the questions behind another sentence."""
        rng = random.Random(self.seed)

        def write(text: str) -> str:
            prefix = f"{rng.choice(self.statements)} " if rng.random() < BEHIND_SENTENCE else ""
            return prefix + text

        return _rewrite(trial, write)

    def _recombine(self, rng: random.Random) -> Crowd:
        """Make a crowd of one real name with one word, or a part of it, that is of other names of its type."""
        names = self.by_type[rng.choice([t for t, group in self.by_type.items() if len(group) >= FEWEST])]
        first, *rest = rng.sample(names, min(SIZE, len(names)))
        words = first.split()
        place = rng.randrange(len(words))
        changed = (_change(words, place, other.split(), rng) for other in rest)
        return Crowd("recombined", (), (first, *changed))


def _rewrite(trial: Trial, write: Callable[[str], str]) -> Trial:
    questions = [replace(question, text=write(question.text)) for question in trial.questions]
    return replace(trial, questions=questions)


def _change(words: Sequence[str], place: int, second: Sequence[str], rng: random.Random) -> str:
    """Put a word of another name in place of one of these words, or join a part of each."""
    word, other = words[place], second[min(place, len(second) - 1)]
    if len(words) == 1 or rng.random() < 0.25:
        longest = max(second, key=len)
        if min(len(word), len(longest)) >= SHORTEST:
            cut, other_cut = rng.randrange(2, len(word) - 1), rng.randrange(1, len(longest) - 1)
            other = word[:cut] + longest[other_cut:]
    return " ".join([*words[:place], other, *words[place + 1 :]])
