"""Sizes of the relational reader, and the bounds of the sub-graph that it walks."""

from dataclasses import dataclass

MAX_HOPS = 3  # the longest path of facts; longer questions were never written for training


@dataclass(frozen=True)
class Config:
    """All sizes of one reader."""

    width: int  # width of the layers that read the question behind the frozen encoder
    heads: int  # attention heads of these layers
    layers: int  # number of these layers
    rank: int  # rank of the map in which a question's state and a relation's label are compared
    hops: int  # largest number of facts on a path
    # Largest number of facts of one entity that are walked; the first ones in the order of the graph
    fan_out: int
    max_nodes: int  # largest number of nodes of a sub-graph
    beams: int  # walks of one question that are followed at each hop
    # Largest number of facts about one entity that are walked back to their subjects; 0 for a reader that was trained
    # to walk from subjects to objects alone
    fan_in: int = 0

    def __post_init__(self) -> None:
        """Refuse sizes that make no reader."""
        if not 1 <= self.hops <= MAX_HOPS:
            raise ValueError(f"hops: from 1 to {MAX_HOPS} facts on a path, not {self.hops!r}")
        if self.width % self.heads:
            raise ValueError(f"width: a multiple of the {self.heads} heads, not {self.width!r}")
        if self.fan_in < 0:
            raise ValueError(f"fan_in: 0 or more, not {self.fan_in!r}")
        for name in ("width", "heads", "rank", "fan_out", "max_nodes", "beams"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: 1 or more, not {getattr(self, name)!r}")
