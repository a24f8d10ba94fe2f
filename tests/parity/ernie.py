"""The heads and the words of ERNIE, from the code of its authors."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.heads import ErnieWithHead, PretrainingLogits
from models.thu_ernie.network import Batch
from models.thu_ernie.row import AlignedText, Link, Rejection, Vocabulary

NO_LABEL = -1  # Label of a place that a loss leaves out


@dataclass(frozen=True)
class PretrainingLabels:
    """The labels of the three tasks; NO_LABEL at places without one.

    Attributes:
        words: Token ids.
        entities: Numbers of candidates.
        order: 0 if the second text follows the first, otherwise 1.
    """

    words: Int[Tensor, "batch token"]
    entities: Int[Tensor, "batch token"]
    order: Int[Tensor, " batch"]


class ErnieSpans(ErnieWithHead):
    """Predicts the first and the last token of an answer."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__(config)
        self.qa_outputs = nn.Linear(config.width, 2)
        self.bert.initialise(self.qa_outputs)

    def forward(self, batch: Batch) -> Float[Tensor, "batch token 2"]:
        """Return the start and the end logit of each token."""
        logits: Tensor = self.qa_outputs(self.bert(batch).tokens)
        return logits


class ErnieClassifier(ErnieWithHead):
    """One of some classes for a text, or a pair of texts."""

    def __init__(self, config: ErnieConfig, classes: int) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.width, classes)
        self.bert.initialise(self.classifier)

    def forward(self, batch: Batch) -> Float[Tensor, "batch class"]:
        """Return the logits of each class."""
        logits: Tensor = self.classifier(self.dropout(self.bert(batch).pooled))
        return logits


class ErnieTagger(ErnieClassifier):
    """One of some classes for each token."""

    def forward(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Return the logits of each class at each token."""
        logits: Tensor = self.classifier(self.dropout(self.bert(batch).tokens))
        return logits


class ErnieTyping(ErnieWithHead):
    """Predicts the types of an entity, each independently. The linear map has no bias."""

    def __init__(self, config: ErnieConfig, types: int) -> None:
        super().__init__(config)
        self.typing = nn.Linear(config.width, types, bias=False)
        self.bert.initialise(self.typing)

    def forward(self, batch: Batch) -> Float[Tensor, "batch type"]:
        """Return the log-odds of each type."""
        logits: Tensor = self.typing(self.dropout(self.bert(batch).pooled))
        return logits


def pretraining_loss(logits: PretrainingLogits, labels: PretrainingLabels) -> Float[Tensor, ""]:
    """Return the sum of the three cross-entropies, section 3.5."""
    return (
        cross_entropy(logits.words, labels.words)
        + cross_entropy(logits.entities, labels.entities)
        + cross_entropy(logits.order, labels.order)
    )


def span_loss(
    logits: Float[Tensor, "batch token 2"], start: Int[Tensor, " batch"], end: Int[Tensor, " batch"]
) -> Float[Tensor, ""]:
    """Return the mean of the cross-entropies of start and end."""
    return (cross_entropy(logits[..., 0], start) + cross_entropy(logits[..., 1], end)) / 2


def cross_entropy(logits: Float[Tensor, "*row class"], labels: Int[Tensor, "*row"]) -> Float[Tensor, ""]:
    """Return the mean over the rows with a label; 0 where no row has one."""
    total = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=NO_LABEL, reduction="sum")
    return total / (labels != NO_LABEL).sum().clamp(min=1)


NO_WORD = "no word of the text begins where the mention does"
LATER = "a later mention begins at the same word"


def align_as_authors(text: str, links: Sequence[Link], vocabulary: Vocabulary) -> AlignedText:
    """Put a link on the first piece of the word between spaces that begins where it does; the last of two wins."""
    text, links = clean(text, links)
    pieces = vocabulary.build_pieces(splits_cjk=False).split(text)
    words = [match.start() for match in re.finditer(r"\S+", text)]
    firsts: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        firsts.setdefault(words[bisect_right(words, piece.start) - 1], number)
    links_by_place: dict[int, Link] = {}
    rejections = []
    for link in links:
        place = firsts.get(link.begin)
        if place is None:
            rejections.append(Rejection(link, NO_WORD))
            continue
        if place in links_by_place:
            rejections.append(Rejection(links_by_place[place], LATER))
        links_by_place[place] = link
    return AlignedText(pieces, links_by_place, tuple(rejections))


def clean(text: str, links: Sequence[Link]) -> tuple[str, list[Link]]:
    """Remove control characters, turn any whitespace into a space, and move links accordingly."""
    characters, shifts = [], [0]
    for character in text:
        is_kept = character in "\t\n\r" or not (
            character == "\ufffd" or unicodedata.category(character).startswith("C")
        )
        if is_kept:
            characters.append(" " if character.isspace() else character)
        shifts.append(shifts[-1] + (not is_kept))

    def move(place: int) -> int:
        return place - shifts[max(0, min(place, len(text)))]

    return "".join(characters), [replace(link, begin=move(link.begin), end=move(link.end)) for link in links]
