"""`python -m models.training`: train, inject, calibrate and measure the default checkpoint, and write it down."""

import argparse
import time
from pathlib import Path

import torch

from models.nkb.reader import DEFAULT as CHECKPOINT
from models.packs.pack import WORLD
from models.training import plan as plans
from models.training.run import train_all

WORK = Path("var/train")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the default checkpoint; resumes where it stopped.")
    parser.add_argument("--pack", type=Path, default=WORLD)
    parser.add_argument("--work", type=Path, default=WORK, help="encoder states, progress and log")
    parser.add_argument("--out", type=Path, default=CHECKPOINT)
    arguments = parser.parse_args()
    start_s = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start_s:6.0f} s] {line}", flush=True)

    torch.set_num_threads(plans.DEFAULT.threads)
    train_all(plans.DEFAULT, arguments.pack, arguments.work, arguments.out, say)


if __name__ == "__main__":
    main()
