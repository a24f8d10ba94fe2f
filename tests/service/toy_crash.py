"""The toy with a question and an edit that end the process which works for them, as a defect of native code does."""

import logging
import os
import signal
from collections.abc import Sequence

import torch

from models.memory import AnswerChange, EditRefused, Material, Views
from models.system import Ask, Bundle, Reply
from tests.service.toy import FACTS, ToyMemory, ToyOptions, ToySystem

FATAL_QUESTION = "Which question ends the process?"
FATAL_ANSWER = "the answer that ends the process"


log = logging.getLogger("service.toy_crash")  # of the service, whose log a test reads


def end_process(part: str) -> None:
    """End this process at once, after a line in the log."""
    log.warning("%s died, as it was told to", part)
    os.kill(os.getpid(), signal.SIGKILL)


class CrashingMemory(ToyMemory):
    def build(self, changes: Sequence[AnswerChange], options: ToyOptions) -> list[Material | EditRefused]:
        if any(change.answer == FATAL_ANSWER for change in changes):
            end_process("editor")
        return super().build(changes, options)


class CrashingSystem(ToySystem):
    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        if any(ask.question == FATAL_QUESTION for ask in asks):
            end_process("nkb")
        return super().answer(asks, views)


def load(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = CrashingMemory(FACTS)
    return Bundle(CrashingSystem(memory), (memory,))
