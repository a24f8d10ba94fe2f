"""The numbers in a question, as one number: who asks about project 7 does not ask about project 8.

To a language model neighbouring numbers mean nearly the same, and no wording changes a number without changing the
question, so a gate stays shut when the numbers differ.
"""

import hashlib
import re
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

NUMBER = re.compile(r"\d+")


def numbers(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Equal for questions with the same numbers in any order; 0 for those without."""
    return torch.tensor([_digest(question) for question in questions], dtype=torch.int64)


def _digest(question: str) -> int:
    found = sorted(NUMBER.findall(question))
    if not found:
        return 0
    return int.from_bytes(hashlib.sha256(" ".join(found).encode()).digest()[:8], "little", signed=True)
