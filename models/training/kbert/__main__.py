"""`python -m models.training.kbert`: train, calibrate and measure the checkpoint of kbert, and write it down."""

import argparse
import time
from pathlib import Path

import torch

from models.kbert.default import DEFAULT as CHECKPOINT
from models.packs.pack import WORLD
from models.training.kbert import plan as plans
from models.training.kbert.run import measure, train_all

WORK = Path("var/kbert/train")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the checkpoint of kbert; resumes where it stopped.")
    parser.add_argument("--pack", type=Path, default=WORLD)
    parser.add_argument("--work", type=Path, default=WORK, help="maps of the rank, progress and time spent")
    parser.add_argument("--out", type=Path, default=CHECKPOINT)
    parser.add_argument("--measure", action="store_true", help="only measure the checkpoint in --out again")
    arguments = parser.parse_args()
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - started:6.0f} s] {line}", flush=True)

    torch.set_num_threads(plans.DEFAULT.threads)
    run = measure if arguments.measure else train_all
    run(plans.DEFAULT, arguments.pack, arguments.work, arguments.out, say)


if __name__ == "__main__":
    main()
