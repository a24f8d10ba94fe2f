"""Warnings for a curator: the scope may miss other words for an edit, or accept other questions."""

from collections.abc import Iterator, Sequence

import torch

from models.scope.candidates import Candidates
from models.scope.languages import is_in_another_language, is_in_another_script
from models.scope.readings import Readings
from models.scope.scope import Scope

ANOTHER_QUESTION = 0.25  # probability below which a further wording is judged another question


def wording_warnings(scope: Scope, wordings: Sequence[str], readings: Readings) -> Iterator[str]:
    """Yield warnings for a curator, in whole sentences.

    Args:
        scope: The scope that will judge the wordings.
        wordings: The question, then its paraphrases.
        readings: Readings of the wordings in order, and perhaps of more behind them.
    """
    if is_in_another_script(wordings[0]):
        yield "this script is compared word for word: other words for the same question need to be given, too"
    elif is_in_another_language(wordings[0]):
        yield (
            "this does not read like English, which the scope learned from: other words for the same question need to "
            "be given, too, in English as well if it is asked in English"
        )
    if len(wordings) == 1:
        return
    paraphrases = torch.arange(1, len(wordings))
    cosines = readings.vectors[1 : len(wordings)] @ readings.vectors[0]
    pairs = Candidates(paraphrases, torch.zeros_like(paraphrases), cosines)
    probabilities = scope.judge_candidates(readings, readings, pairs).tolist()
    for wording, probability in zip(wordings[1:], probabilities, strict=True):
        if probability < ANOTHER_QUESTION:
            pair = f"{wording!r} is judged another question than {wordings[0]!r}"
            consequence = "it and questions like it get this answer too; if that is not meant, leave it out"
            yield f"{pair} ({100 * probability:.0f} % likely the same): {consequence}"
