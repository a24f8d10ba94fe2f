"""The heads and the words of ERNIE, from the code of its authors."""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor, nn

from models.encoder.weights import find
from models.kit.text import WordPieces
from models.thu_ernie.align import AlignedText, Link, Rejection
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.heads import transform
from models.thu_ernie.network import Batch, Ernie

NO_LABEL = -1  # Label of a place that a loss leaves out


class ErnieWithHead(nn.Module):
    """A network under a head; a checkpoint has it under `bert.`."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.config, self.bert, self.dropout = config, Ernie(config), nn.Dropout(config.dropout)


def pool(network: Ernie, tokens: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch width"]:
    """Return tanh(W x + b) of the first token's state."""
    return torch.tanh(network.pooler["dense"](tokens[:, 0]))


def unlink(batch: Batch) -> Batch:
    """Return a batch without entities: the zero vector at [CLS] alone is a key."""
    is_first = torch.zeros_like(batch.is_linked)
    is_first[:, 0] = True
    return replace(batch, entities=torch.zeros_like(batch.entities), is_linked=is_first)


class WordPrediction(nn.Module):
    """Masked words. The decoder is the word embedding."""

    def __init__(self, config: ErnieConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.transform = transform(config.width, config.width)
        self.decoder = nn.Linear(config.width, config.vocab, bias=False)
        self.decoder.weight = embedding.weight
        self.bias = nn.Parameter(torch.zeros(config.vocab))

    def forward(self, x: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch token vocab"]:
        """Return the logits of each word at each place."""
        logits: Tensor = self.decoder(self.transform(x)) + self.bias
        return logits


class PretrainingHeads(nn.Module):
    """The heads of the three tasks on one reading."""

    def __init__(self, config: ErnieConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.predictions = WordPrediction(config, embedding)
        self.predictions_ent = nn.ModuleDict({"transform": transform(config.width, config.entity_size)})
        self.seq_relationship = nn.Linear(config.width, 2)


@dataclass(frozen=True)
class PretrainingLogits:
    """The scores of the three tasks before their softmax."""

    words: Float[Tensor, "batch token vocab"]
    entities: Float[Tensor, "batch token candidate"]  # 0 for a candidate whose vector is zero
    order: Float[Tensor, "batch 2"]  # class 0 says that the second text follows the first


class ErniePretraining(ErnieWithHead):
    """Masked words, next text and entity alignment together."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__(config)
        self.cls = PretrainingHeads(config, self.bert.embeddings.word_embeddings)
        self.cls.apply(self.bert.initialise)

    def forward(self, batch: Batch, candidates: Float[Tensor, "candidate entity"]) -> PretrainingLogits:
        """Read a batch, and compare each token with the vectors of the candidates."""
        tokens = self.bert(batch)
        return PretrainingLogits(
            self.cls.predictions(tokens),
            self.cls.predictions_ent["transform"](tokens) @ candidates.T,
            self.cls.seq_relationship(pool(self.bert, tokens)),
        )


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
        logits: Tensor = self.qa_outputs(self.bert(batch))
        return logits


class ErnieClassifier(ErnieWithHead):
    """One of some classes for a text, or a pair of texts."""

    def __init__(self, config: ErnieConfig, classes: int) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.width, classes)
        self.bert.initialise(self.classifier)

    def forward(self, batch: Batch) -> Float[Tensor, "batch class"]:
        """Return the logits of each class."""
        logits: Tensor = self.classifier(self.dropout(pool(self.bert, self.bert(batch))))
        return logits


class ErnieTagger(ErnieClassifier):
    """One of some classes for each token."""

    def forward(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Return the logits of each class at each token."""
        logits: Tensor = self.classifier(self.dropout(self.bert(batch)))
        return logits


class ErnieTyping(ErnieWithHead):
    """Predicts the types of an entity, each independently. The linear map has no bias."""

    def __init__(self, config: ErnieConfig, types: int) -> None:
        super().__init__(config)
        self.typing = nn.Linear(config.width, types, bias=False)
        self.bert.initialise(self.typing)

    def forward(self, batch: Batch) -> Float[Tensor, "batch type"]:
        """Return the log-odds of each type."""
        logits: Tensor = self.typing(self.dropout(pool(self.bert, self.bert(batch))))
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


def build_pieces(words: Sequence[str], **options: bool) -> WordPieces:
    """Return MiniLM's word pieces with other words, and other options of its normalizer."""
    content = json.loads(find().tokenizer().to_str())
    content["model"]["vocab"], content["added_tokens"] = {word: id for id, word in enumerate(words)}, []
    content["normalizer"] |= options
    return WordPieces(Tokenizer.from_str(json.dumps(content | {"post_processor": None})))


def align_as_authors(text: str, links: Sequence[Link], vocabulary: WordPieces) -> AlignedText:
    """Put a link on the first piece of the word between spaces that begins where it does; the last of two wins.

    The pieces of the authors do not split Chinese characters.
    """
    text, links = clean(text, links)
    pieces = vocabulary.split(text)
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
