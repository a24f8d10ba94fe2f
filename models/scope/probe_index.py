"""The pack's questions as gates read them, so that each change is probed with all of them at once.

A key is quantized to 8 bits a number, near enough to pass over every question that no gate can open for: the network
never falls as a cosine rises, so its verdict on the cosines plus what rounding may have taken from them is a bound.
The questions that are left, a handful, are read as they are.
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
from models.scope.keys import UNKNOWN, QuestionKeys, dequantize, quantize
from models.scope.literals import covers_names, digest_numbers, encode_words
from models.scope.network import FIRST, READINGS, Scope, split_key
from models.scope.pairs import CHUNK, ROUNDING

KEYS = "keys.safetensors"
BATCH = 64  # questions in one forward pass


@dataclass(frozen=True)
class ProbeIndex:
    """checkpoint: digest of the one whose gates read them. slack: by which a cosine with a quantized key may fall short
    of the real one, for each reading.
    """

    checkpoint: str
    questions: tuple[str, ...]
    codes: Int[Tensor, "question key"]
    slack: Float[Tensor, " reading"]

    @staticmethod
    @torch.inference_mode()
    def build(checkpoint: str, scope: Scope, encoder: MiniLM, questions: Sequence[str]) -> "ProbeIndex":
        """Reads every question: 12,000 take a quarter of a minute."""
        batches = (encoder.encode(questions[at : at + BATCH]) for at in range(0, len(questions), BATCH))
        keys = torch.cat([scope.key(batch.states, batch.ids, batch.mask) for batch in batches])
        codes = torch.cat([quantize(part) for part in split_key(keys)], -1)
        errors = split_key(keys - _dequantize(codes))
        slack = torch.stack([part.norm(dim=-1).amax() for part in errors])
        return ProbeIndex(checkpoint, tuple(questions), codes, slack)

    @staticmethod
    def load(folder: Path, checkpoint: str, device: torch.device | str = "cpu") -> "ProbeIndex":
        """The index beside the checkpoint in `folder`.

        Raises:
            CheckpointError: it is missing, damaged or of another checkpoint.
        """
        folder = _beside(folder)
        verify_sums(folder, (KEYS,))
        tensors = load_file(folder / KEYS)
        built_for = _text(tensors["checkpoint"])
        if built_for != checkpoint:
            raise CheckpointError(f"{folder} was made for the checkpoint {built_for}: {ADVICE}")
        questions = tuple(_text(tensors["questions"]).split("\n"))
        return ProbeIndex(built_for, questions, tensors["keys"].to(device), tensors["slack"].to(device))

    def save(self, folder: Path) -> None:
        """In a folder beside the checkpoint: no answer follows from it, and an editor alone needs it."""
        folder = _beside(folder)
        folder.mkdir(parents=True, exist_ok=True)
        texts = {"questions": _bytes("\n".join(self.questions)), "checkpoint": _bytes(self.checkpoint)}
        save_file({**texts, "keys": self.codes, "slack": self.slack}, folder / KEYS)
        write_sums(folder, (KEYS,))

    @cached_property
    def keys(self) -> QuestionKeys:
        keys = _dequantize(self.codes)
        numbers, words = digest_numbers(self.questions), encode_words(self.questions)
        subjects = torch.full((len(keys),), UNKNOWN, device=keys.device)
        return QuestionKeys(keys, numbers.to(keys.device), subjects, words.to(keys.device))

    @torch.inference_mode()
    def near(self, scope: Scope, gates: QuestionKeys) -> list[str]:
        """Every question that one of these gates may open for, the least sure first; for no other does one open.

        The surest are the gates' own facts in the pack's words.
        """
        probes = self.keys
        threshold = scope.open_bound - float(self.slack[: READINGS.index(WIDTH)].sum()) - ROUNDING
        logit_bound = probes.keys.new_full((len(probes),), float("-inf"))
        for start in range(0, len(gates), CHUNK):
            chunk = gates.select(slice(start, start + CHUNK))
            near = probes.keys[:, :FIRST] @ chunk.keys[:, :FIRST].T >= threshold
            question, gate = near.nonzero(as_tuple=True)
            agree = probes.numbers[question] == chunk.numbers[gate]
            agree &= covers_names(chunk.words[gate], probes.words[question])
            question, gate = question[agree], gate[agree]
            cosines = scope.cosines_of_pairs(probes.keys[question], chunk.keys[gate]) + self.slack
            logit_bound.scatter_reduce_(0, question, scope.logit(cosines + ROUNDING), "amax")
        order = logit_bound.argsort(stable=True)[int((logit_bound <= 0).sum()) :]
        return [self.questions[place] for place in order.tolist()]


def _dequantize(codes: Int[Tensor, "question key"]) -> Float[Tensor, "question key"]:
    return torch.cat([dequantize(part) for part in split_key(codes)], -1)


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-probes")


def _bytes(text: str) -> Tensor:
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def _text(codes: Tensor) -> str:
    return bytes(codes.tolist()).decode()
