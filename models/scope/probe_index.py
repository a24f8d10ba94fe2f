"""The pack's questions as the scope reads them, so that each change is probed with all of them at once.

Their vectors are kept in 8 bits: near enough to pass over every question that is no candidate for a changed wording,
with a slack for what rounding took. The questions that are left, a handful, are read and judged as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Int
from safetensors.torch import save_file
from torch import Tensor

from models.kit.checkpoint import ADVICE, CheckpointError, read_verified, write_sums
from models.scope.candidates import MIN_COSINE
from models.scope.literals import digest_literals, digest_wordings
from models.scope.readings import Readings, StoredReadings, dequantize, may_share, quantize, scales_of

VECTORS = "vectors.safetensors"


@dataclass(frozen=True)
class ProbeIndex:
    """Questions with their quantized vectors."""

    checkpoint: str  # digest of the checkpoint that read them
    questions: tuple[str, ...]
    codes: Int[Tensor, "question width"]  # sentence vectors in 8 bits [question width]
    subjects: Int[Tensor, " question"]  # places of known subjects [question]
    slack: float  # largest error of a cosine with a quantized vector

    @staticmethod
    def build(checkpoint: str, questions: Sequence[str], readings: Readings) -> "ProbeIndex":
        """Build the index of questions."""
        codes = quantize(readings.vectors)
        error = (readings.vectors - dequantize(codes)).norm(dim=-1).amax()
        return ProbeIndex(checkpoint, tuple(questions), codes, readings.subjects, float(error))

    @staticmethod
    def load(folder: Path, checkpoint: str | None, device: torch.device | str = "cpu") -> "ProbeIndex":
        """Load the index that lies beside a checkpoint.

        Args:
            folder: Folder of the checkpoint.
            checkpoint: Its digest; None for a system that knows no subjects, since sentence vectors are the encoder's.
            device: Where the vectors are compared.

        Raises:
            CheckpointError: It is missing, damaged or of another checkpoint.
        """
        folder = _beside(folder)
        tensors = read_verified(folder, (VECTORS,)).tensors(VECTORS)
        built_for = _text(tensors["checkpoint"])
        if checkpoint not in (None, built_for):
            raise CheckpointError(f"{folder} was made for the checkpoint {built_for}: {ADVICE}")
        questions = tuple(_text(tensors["questions"]).split("\n"))
        vectors, subjects = tensors["vectors"].to(device), tensors["subjects"].to(device)
        return ProbeIndex(built_for, questions, vectors, subjects, float(tensors["slack"]))

    def save(self, folder: Path) -> None:
        """Write the index to a folder beside the checkpoint: only an editor needs it, and no answer follows from it."""
        folder = _beside(folder)
        folder.mkdir(parents=True, exist_ok=True)
        texts = {"questions": _bytes("\n".join(self.questions)), "checkpoint": _bytes(self.checkpoint)}
        numbers = {"vectors": self.codes, "subjects": self.subjects, "slack": torch.tensor(self.slack)}
        save_file({**texts, **numbers}, folder / VECTORS)
        write_sums(folder, (VECTORS,))

    @cached_property
    def readings(self) -> StoredReadings:
        """Return the questions as the scope compares them."""
        literals, wordings = digest_literals(self.questions), digest_wordings(self.questions)
        device = self.codes.device
        return StoredReadings(
            (), self.codes, scales_of(self.codes), wordings.to(device), literals.to(device), self.subjects
        )

    @torch.inference_mode()
    def near(self, wordings: Readings, min_cosine: float = MIN_COSINE) -> list[str]:
        """Return every question that may ask for one of these wordings, the farthest first.

        The nearest are the edits' own facts in the pack's words.

        Args:
            min_cosine: Cosine below which no question asks for a wording.
        """
        if not len(wordings):
            return []
        probes, min_cosine = self.readings, min_cosine - self.slack
        wording, probe, _ = probes.near(wordings.vectors, min_cosine)
        may_ask = may_share(probes.subjects[probe], wordings.subjects[wording])
        may_ask &= probes.literals[probe] == wordings.literals[wording]
        wording, probe = wording[may_ask], probe[may_ask]
        best = torch.full((len(probes),), -1.0, device=probes.codes.device)
        best.scatter_reduce_(0, probe, probes.cosines(wordings.vectors, wording, probe), "amax")
        order = best.argsort(stable=True)
        return [self.questions[place] for place in order[best[order] >= min_cosine].tolist()]


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-probes")


def _bytes(text: str) -> Tensor:
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def _text(codes: Tensor) -> str:
    return bytes(codes.tolist()).decode()
