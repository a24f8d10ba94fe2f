"""Edits and questions of other people as streams: the open halves of QAEdit and CounterFact, and the near groups.

They are read from the folder of the editing sets and never copied. No weight was trained on them; the threshold of
the judge was set with its curves on all three in view.
"""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from models.training.scope import trials
from models.training.scope.trials import Trial
from tests.bench.editing_methods.draw import EditRequest, Stream

OTHER_QUESTIONS = "others", "written"  # kind and form of the questions that no edit of a set is about
READERS: Mapping[str, tuple[str, Callable[[Path], Trial]]] = {
    "near groups": ("near.open.jsonl", trials.read_groups_trial),
    "QAEdit": ("qaedit.open.jsonl", trials.read_qaedit),
    "CounterFact": ("counterfact.open.jsonl", trials.read_counterfact),
}


def read_set(name: str, n: int, seed: int, sets: Path) -> Stream:
    """Draw `n` edits of a set, with their paraphrases and as many other questions for each edit as the set has.

    Args:
        name: A key of READERS.
        n: Number of edits; all of the set, in another order, where it has no more.
        seed: Seed of the draw.
        sets: The folder of the editing sets.

    Raises:
        FileNotFoundError: The folder has no such set; the text says what to give.
    """
    file, read = READERS[name]
    trial = read(sets)
    answers = [json.loads(line)["answer"] for line in (sets / file).read_text("utf-8").splitlines()]
    rng, places = random.Random(f"{name} {seed}"), range(len(trial.edits))
    chosen_places = rng.sample(places, min(n, len(places)))
    paraphrases: dict[int, list[str]] = {place: [] for place in places}
    other_questions = [question.text for question in trial.questions if question.edit is None]
    for question in trial.questions:
        if question.edit is not None:
            paraphrases[question.edit].append(question.text)
    requests = [
        EditRequest(f"{place:05d}", trial.edits[place], answers[place].strip(), tuple(paraphrases[place]))
        for place in chosen_places
    ]
    share = len(other_questions) * len(chosen_places) // len(places)
    return Stream(
        tuple(requests), {OTHER_QUESTIONS: tuple(dict.fromkeys(rng.sample(other_questions, share)))}
    )
