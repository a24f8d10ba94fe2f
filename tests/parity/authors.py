"""The parts of the authors' K-BERT that are not served, for parity: characters, `.spo` graphs, UER weights, two heads.

W. Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606) and its code. What is served (tree, row, visible matrix, encoder) is
imported and not repeated; here is what leads to it from the authors' files, and what the authors put on top of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from models.encoder.graph import BertGraph
from models.encoder.layers import ExactLayers, GraphLayers
from models.kbert.encoder import Encoder
from models.kbert.row import Batch, Row, collate, lay_out
from models.kbert.tree import grow
from models.kit.text import CLS, MASK, PAD, SEP, UNK, Piece, Word

TAGS = (PAD, UNK, CLS, SEP, MASK, "[ENT]", "[SUB]", "[PRE]", "[OBJ]")  # never split, never a subject
UER_EPSILON = 1e-6
Kind = Literal["single", "pair", "tagging"]
Pooling = Literal["first", "mean", "max", "last"]
Triple = tuple[str, str, str]

# The authors' name, Hugging Face's name; N is the layer. Norms are gamma and beta with the authors.
NAMES = {
    "embedding.word_embedding": "embeddings.word_embeddings",
    "embedding.position_embedding": "embeddings.position_embeddings",
    "embedding.segment_embedding": "embeddings.token_type_embeddings",
    "embedding.layer_norm": "embeddings.LayerNorm",
    "encoder.transformer.N.self_attn.linear_layers.0": "encoder.layer.N.attention.self.query",
    "encoder.transformer.N.self_attn.linear_layers.1": "encoder.layer.N.attention.self.key",
    "encoder.transformer.N.self_attn.linear_layers.2": "encoder.layer.N.attention.self.value",
    "encoder.transformer.N.self_attn.final_linear": "encoder.layer.N.attention.output.dense",
    "encoder.transformer.N.layer_norm_1": "encoder.layer.N.attention.output.LayerNorm",
    "encoder.transformer.N.feed_forward.linear_1": "encoder.layer.N.intermediate.dense",
    "encoder.transformer.N.feed_forward.linear_2": "encoder.layer.N.output.dense",
    "encoder.transformer.N.layer_norm_2": "encoder.layer.N.output.LayerNorm",
}
SEGMENTS = "embeddings.token_type_embeddings.weight"


@dataclass(frozen=True)
class Characters:
    """A tokenizer for which every character is a token, unknown ones are [UNK]; nothing is lower-cased."""

    ids: Mapping[str, int]

    @property
    def padding(self) -> int:
        return self.ids[PAD]

    def split(self, text: str) -> list[Piece]:
        return [Piece(c, self.ids.get(c, self.ids[UNK]), place, place + 1) for place, c in enumerate(text)]

    def tag(self, name: str) -> Piece:
        return Piece(name, self.ids.get(name, self.ids[UNK]), 0, len(name))


def parse_spo(lines: Iterable[str]) -> list[Triple]:
    """Parse subject, tab, predicate, tab, object; a line that is not a triple is skipped."""
    triples: list[Triple] = []
    for line in lines:
        columns = [column.strip() for column in line.rstrip("\r\n").split("\t")]
        if len(columns) == 3 and all(columns) and columns[0] not in TAGS:
            triples.append((columns[0], columns[1], columns[2]))
    return triples


def build_graph(triples: Iterable[Triple], with_predicate: bool) -> dict[str, list[str]]:
    """Return the distinct values of each subject, in file order: predicate and object, or the object alone."""
    graph: dict[str, dict[str, None]] = {}
    for subject, predicate, object_ in triples:
        graph.setdefault(subject, {})[predicate + object_ if with_predicate else object_] = None
    return {subject: list(values) for subject, values in graph.items()}


def read_words(
    words: Sequence[str],
    graph: Mapping[str, Sequence[str]],
    tokens: Characters,
    max_entities: int,
    kind: Kind,
) -> Row:
    """Read words with at most `max_entities` values each, as a row; a word that is spelt like a tag is that tag."""
    trunk = [Word(word, is_tag=word in TAGS) for word in words]
    facts = [() if word.is_tag else graph.get(word.text, ())[:max_entities] for word in trunk]
    return lay_out(grow(trunk, facts, tokens), kind == "pair")


def cut_blindly(row: Row, max_length: int) -> Row:
    """Cut a row after its first tokens, through facts and separators alike."""
    return replace(row, tokens=row.tokens[:max_length], segments=row.segments[:max_length])


def collate_as_authors(rows: Sequence[Row], padding: int, length: int, kind: Kind) -> Batch:
    """Collate rows as the authors' tagger, which never marks padding in its segments."""
    batch = collate(rows, padding, length)
    if kind == "tagging":
        return replace(batch, segments=batch.segments.masked_fill(~batch.is_real, 1))
    return batch


def load_encoder(weights: Mapping[str, Tensor], heads: int) -> Encoder:
    """The served encoder with UER's weights, norms and segment table, whose row 0 of padding is not zero."""
    tensors = rename(weights)
    encoder = Encoder.from_weights({**tensors, SEGMENTS: tensors[SEGMENTS][1:]}, heads=heads)
    return replace(encoder, segments=tensors[SEGMENTS], bert=UerLayers(tensors, heads))


class UerGraph(BertGraph):
    """Layers with the norm of UER, the library of K-BERT's authors, over 12 of which outputs differ by thousandths."""

    def norm(self, x: str, gamma: Tensor, beta: Tensor) -> str:
        """Add a norm that divides by the deviation with N - 1, plus epsilon."""
        rest = self.node("Sub", x, self.node("ReduceMean", x, self.numbers(-1)))
        squares = self.node("ReduceSumSquare", rest, self.numbers(-1))
        deviation = self.node("Sqrt", self.node("Mul", squares, self.number(1 / (len(gamma) - 1))))
        quotient = self.node("Div", rest, self.node("Add", deviation, self.number(UER_EPSILON)))
        return self.node("Add", self.node("Mul", quotient, self.weight(gamma)), self.weight(beta))


class UerLayers(ExactLayers):
    """The layers of `UerGraph`."""

    def __init__(self, weights: Mapping[str, Tensor], heads: int) -> None:
        GraphLayers.__init__(self, UerGraph(weights, heads))


def rename(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the encoder's weights under Hugging Face's names. ValueError: one is not known by its name."""
    tensors: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        module, _, kind = name.rpartition(".")
        layer = module.split(".")[2] if module.startswith("encoder.") else ""
        new_name = NAMES.get(module.replace(f".{layer}.", ".N.", 1) if layer else module)
        if new_name is not None:
            kind = {"gamma": "weight", "beta": "bias"}.get(kind, kind)
            tensors[f"{new_name.replace('.N.', f'.{layer}.')}.{kind}"] = tensor
        elif name.startswith(("embedding", "encoder")):
            raise ValueError(f"the encoder has no {name}")
    return tensors


def read_with_padding(encoder: Encoder, batch: Batch) -> Tensor:
    """Return states of padding too, which the authors compute and the service leaves out."""
    return encoder.read(replace(batch, is_real=torch.ones_like(batch.is_real)))


@dataclass(frozen=True)
class Classifier:
    """Pool, tanh of a linear map, linear map. Padding takes part in pooling."""

    encoder: Encoder
    weights: Mapping[str, Tensor]
    pooling: Pooling

    def __call__(self, batch: Batch) -> Tensor:
        """Logits [batch, label]."""
        states = read_with_padding(self.encoder, batch)
        pools = {"first": states[:, 0], "mean": states.mean(1), "max": states.amax(1), "last": states[:, -1]}
        hidden = torch.tanh(_linear(self.weights, "output_layer_1", pools[self.pooling]))
        return _linear(self.weights, "output_layer_2", hidden)


@dataclass(frozen=True)
class Tagger:
    """One linear map for each token. Labels are [PAD], [ENT] for injected tokens, then the tags."""

    encoder: Encoder
    weights: Mapping[str, Tensor]

    def __call__(self, batch: Batch) -> Tensor:
        """Logits [batch, token, label]."""
        return _linear(self.weights, "output_layer", read_with_padding(self.encoder, batch))

    @staticmethod
    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean over tokens whose label is not [PAD]; injected tokens are trained on."""
        losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
        return (losses * (labels > 0)).sum() / ((labels > 0).sum() + 1e-6)


def _linear(weights: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])
