"""The command line that all trainings have."""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from models.packs.pack import WORLD

Say = Callable[[str], None]


def describe_command(system: str, work: Path, out: Path, threads: int = 2) -> argparse.ArgumentParser:
    """Return a parser of the options that every training has, with their defaults."""
    parser = argparse.ArgumentParser(
        description=f"Train the checkpoint of {system}; resumes where it stopped."
    )
    parser.add_argument("--pack", type=Path, default=WORLD)
    parser.add_argument("--work", type=Path, default=work, help="progress and time spent")
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--threads", type=int, default=threads)
    return parser


def add_until(parser: argparse.ArgumentParser) -> None:
    """Let a command stop early."""
    parser.add_argument("--until", type=int, help="stop before this step and write nothing but progress")


def read_command(
    parser: argparse.ArgumentParser, words: Sequence[str] | None = None
) -> tuple[argparse.Namespace, Say]:
    """Read the command line, set the threads, and return a printer of lines with the time since the start."""
    arguments, start_s = parser.parse_args(words), time.monotonic()
    torch.set_num_threads(arguments.threads)

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start_s:6.0f} s] {line}", flush=True)

    return arguments, say
