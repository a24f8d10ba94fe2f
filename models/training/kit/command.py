"""The command line that all trainings have."""

import argparse
import time
from collections.abc import Callable, Sequence

import torch

Say = Callable[[str], None]


def read_command(
    parser: argparse.ArgumentParser, words: Sequence[str] | None = None
) -> tuple[argparse.Namespace, Say]:
    """Read the command line, set the threads, and return a printer of lines with the time since the start."""
    arguments, start_s = parser.parse_args(words), time.monotonic()
    torch.set_num_threads(arguments.threads)

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start_s:6.0f} s] {line}", flush=True)

    return arguments, say
