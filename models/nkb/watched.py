"""The questions of the pack as gates read them, so that each change is tried on all of them at once.

A key is kept in 8 bits a number, near enough to pass over every question that no gate can open for: the network never
falls as a cosine rises, so its verdict on the cosines plus what rounding may have taken from them is a bound. Those
that are left, a handful, are read as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.checkpoint import ADVICE, CheckpointError, verify_sums, write_sums
from models.encoder.minilm import WIDTH, MiniLM
from models.nkb.alike import AT_A_TIME, ROUNDING, Keyed
from models.nkb.familiar import UNKNOWN, pack, unpack
from models.nkb.names import covers, words
from models.nkb.numbers import numbers
from models.nkb.scope import FIRST, READINGS, Scope

KEYS = "keys.safetensors"
ENCODED = 64  # questions in one forward pass


@dataclass(frozen=True)
class Watched:
    """checkpoint: digest of the one whose gates read them. slack: by which a cosine with a kept key may fall short of
    the real one, for each reading.
    """

    checkpoint: str
    questions: tuple[str, ...]
    packed: Int[Tensor, "question key"]
    slack: Float[Tensor, " reading"]

    @staticmethod
    def of(checkpoint: str, scope: Scope, encoder: MiniLM, questions: Sequence[str]) -> "Watched":
        """Reads every one: 12,000 take a quarter of a minute."""
        keys = torch.cat(
            [_keys(scope, encoder, questions[at : at + ENCODED]) for at in range(0, len(questions), ENCODED)]
        )
        packed = torch.cat([pack(part) for part in torch.split(keys, READINGS, -1)], -1)
        lost = torch.split(keys - _unpacked(packed), READINGS, -1)
        slack = torch.stack([part.norm(dim=-1).amax() for part in lost])
        return Watched(checkpoint, tuple(questions), packed, slack)

    @staticmethod
    def load(folder: Path, checkpoint: str) -> "Watched":
        """Those beside the checkpoint in `folder`. CheckpointError when they are missing, damaged or of another one."""
        folder = _beside(folder)
        verify_sums(folder, (KEYS,))
        stored = load_file(folder / KEYS)
        found = _text(stored["checkpoint"])
        if found != checkpoint:
            raise CheckpointError(f"{folder} was made for the checkpoint {found}: {ADVICE}")
        return Watched(found, tuple(_text(stored["questions"]).split("\n")), stored["keys"], stored["slack"])

    def save(self, folder: Path) -> None:
        """In a folder beside the checkpoint: no answer follows from it, and an editor alone needs it."""
        folder = _beside(folder)
        folder.mkdir(parents=True, exist_ok=True)
        texts = {"questions": _bytes("\n".join(self.questions)), "checkpoint": _bytes(self.checkpoint)}
        save_file({**texts, "keys": self.packed, "slack": self.slack}, folder / KEYS)
        write_sums(folder, (KEYS,))

    @cached_property
    def keyed(self) -> Keyed:
        keys = _unpacked(self.packed)
        nobody = torch.full((len(keys),), UNKNOWN)
        return Keyed(keys, numbers(self.questions), nobody, words(self.questions))

    @torch.inference_mode()
    def near(self, scope: Scope, gates: Keyed) -> list[str]:
        """Every question that one of these gates may open for, the least sure first; for no other does one open.

        The surest are the gates' own facts in the pack's words.
        """
        keys = self.keyed.keys
        bound = torch.full((len(keys),), float("-inf"))
        for start in range(0, len(gates), AT_A_TIME):
            some = gates.select(slice(start, start + AT_A_TIME))
            question, gate = self._close(scope, some)
            cosines = scope.cosines_of_pairs(keys[question], some.keys[gate]) + self.slack
            bound.scatter_reduce_(0, question, scope.logit(cosines + ROUNDING), "amax")
        order = bound.argsort(stable=True)[int((bound <= 0).sum()) :]
        return [self.questions[place] for place in order.tolist()]

    def _close(self, scope: Scope, gates: Keyed) -> tuple[Tensor, Tensor]:
        """Pairs of question and gate by their first three readings."""
        least = scope.least - float(self.slack[: READINGS.index(WIDTH)].sum()) - ROUNDING
        known = self.keyed
        question, gate = (known.keys[:, :FIRST] @ gates.keys[:, :FIRST].T >= least).nonzero(as_tuple=True)
        same = known.numbers[question] == gates.numbers[gate]
        same &= covers(gates.words[gate], known.words[question])
        return question[same], gate[same]


@torch.inference_mode()
def _keys(scope: Scope, encoder: MiniLM, questions: Sequence[str]) -> Float[Tensor, "question key"]:
    encoded = encoder.encode(questions)
    return scope.key(encoded.states, encoded.ids, encoded.mask)


def _unpacked(packed: Int[Tensor, "question key"]) -> Float[Tensor, "question key"]:
    return torch.cat([unpack(part) for part in torch.split(packed, READINGS, -1)], -1)


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-watched")


def _bytes(text: str) -> Tensor:
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def _text(stored: Tensor) -> str:
    return bytes(stored.tolist()).decode()
