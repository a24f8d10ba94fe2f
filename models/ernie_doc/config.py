"""The sizes of one ERNIE-Doc, and the switches between the authors' behaviour and ours.

Ding et al., ERNIE-Doc (arXiv:2012.15688). T is the number of tokens of a segment, M the number of memory slots.
"""

from dataclasses import dataclass

MASK_VALUE = (
    1e8  # magnitude of the authors' mask; float32 keeps steps of 8 there, so masked scores vanish in it
)
SIZES = ("vocab", "width", "layers", "heads", "inner", "segment", "memory", "task_types")
RATES = ("hidden_dropout", "attention_dropout", "inner_dropout")


@dataclass(frozen=True)
class ErnieDocConfig:
    """The sizes that a checkpoint fixes."""

    vocab: int  # rows of the word table
    width: int  # H, numbers of a hidden state
    layers: int
    heads: int  # divides the width
    inner: int  # width of the feed-forward layers
    # T, tokens of a segment. The position row of a past key depends on it, so it is part of the model.
    segment: int
    memory: int  # M, slots of memory of each layer
    position_rows: int  # rows of the position table, 2T + M or more; the last of 2T + M is never used
    task_types: int  # rows of the task table
    epsilon: float  # constant of the layer norms in the encoder
    embedding_epsilon: float  # constant of the three layer norms of the embeddings
    hidden_dropout: float  # rate on embeddings and on the outputs of attention and feed-forward layer
    attention_dropout: float
    inner_dropout: float
    shares_biases: bool = False  # True if all layers use one u, w and s
    mask_value: float = MASK_VALUE
    # True if memory slots take the task of the first token of the batch, as in the authors' code; by default
    # it is the first of their row.
    shares_memory_task: bool = False
    # True if the last real tokens become memory; by default it is the last positions, padding included, as in
    # the authors' code.
    skips_padding: bool = False
    # True if slots that no segment has written are hidden. The authors' weights saw them.
    mask_empty_memory: bool = False
    # True if the state of a [MASK] behind the question points at its answer, as in models/reading; by default
    # a linear layer tells start and end, as in the authors' code.
    points: bool = False
    # Labels of the authors' head for sequence classification; 0 for a model that answers with spans.
    classes: int = 0
    # True if that head reads the first state of a segment; by default it is the last.
    pools_first: bool = False

    def __post_init__(self) -> None:
        for name in SIZES:
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: at least 1, not {getattr(self, name)!r}")
        for name in RATES:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}: from 0 to below 1, not {getattr(self, name)!r}")
        if self.classes < 0 or (self.classes and self.points):
            raise ValueError(f"classes: 0 or more, and 0 for a model that points, not {self.classes!r}")
        if self.width % self.heads:
            raise ValueError(f"heads: {self.heads} heads do not divide a width of {self.width}")

        if self.position_rows < 2 * self.segment + self.memory:
            raise ValueError(
                f"position_rows: at least 2 * {self.segment} + {self.memory}, not {self.position_rows!r}"
            )
