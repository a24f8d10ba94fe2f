"""The confidence in the best span of a document: the features that `models/confidence.py` scales."""

from collections.abc import Sequence
from math import log

from models.confidence import Confidence
from models.kit.replies import clip
from models.reading.spans import Span

FARTHEST = 20.0  # bound of each feature, in logits
NO_SCALE = Confidence(
    (1.0, 0.0, 0.0), 0.0, 0.0
)  # scale that is the odds of the span against no answer in its window


def read_features(span: Span, spans: Sequence[Span], n_windows: int) -> tuple[float, float, float]:
    """Return features that distinguish right spans from wrong ones.

    Returns:
        The margin against no answer; the distance to the best span with another text; the logarithm of the windows.
    """
    rivals = [other.margin for other in spans if other.text.casefold() != span.text.casefold()]
    distance = span.margin - max(rivals) if rivals else FARTHEST
    return clip(span.margin, FARTHEST), clip(distance, FARTHEST), log(n_windows)


def rate(spans: Sequence[Span], n_windows: int, scale: Confidence) -> list[float]:
    """Return the probability that each span is right, which never rises from one span to the next."""
    scores = [scale.score(read_features(span, spans, n_windows)) for span in spans]
    return [min(scores[: place + 1]) for place in range(len(scores))]
