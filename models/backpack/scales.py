"""The features of the confidence of an answer, and the scales that a folder keeps.

models/confidence.py turns the features into a probability, on two scales: of an answer that is written freely, and of
one that is chosen among candidates.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from models.confidence import Confidence
from models.kit.checkpoint import CheckpointError, Contents
from models.kit.decoded import features
from models.kit.replies import log_odds

CONFIDENCE = "confidence.json"
SCALES = ("free", "choice")


def free_features(logprobs: Sequence[float]) -> tuple[float, ...]:
    """Return doubt about the first token, the least likely one and the whole answer."""
    return features(logprobs, familiarity=0.0)[:3]


def choice_features(scores: Sequence[float]) -> tuple[float, ...]:
    """Return the log-odds of the best candidate among all."""
    best = max(scores)
    return (log_odds(1 / sum(math.exp(score - best) for score in scores)),)


def read_scales(contents: Contents) -> dict[str, Confidence]:
    """Read the scales of a checkpoint.

    Raises:
        CheckpointError: The file holds other scales.
    """
    content = contents.json(CONFIDENCE)
    try:
        return {name: Confidence.parse(content[name]) for name in SCALES}
    except (KeyError, TypeError, ValueError) as cause:
        path = contents.folder / CONFIDENCE
        raise CheckpointError(f"{path} does not hold the scales {' and '.join(SCALES)}: {cause}") from cause


def write_scales(folder: Path, scales: Mapping[str, Confidence]) -> None:
    """Write the scales of a checkpoint."""
    content = {name: scales[name].to_json() for name in SCALES}
    (folder / CONFIDENCE).write_text(json.dumps(content, indent=1) + "\n")
