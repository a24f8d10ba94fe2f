"""`python -m models.training NAME`: train the checkpoint of a system, or only measure it with `--measure`.

A training goes on where it stopped. It ends with an exam, whose figures stand in the card beside the checkpoint.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from models.packs.pack import WORLD
from models.training.kit.command import read_command
from models.training.kit.run import Run

CHECKPOINTS = Path(__file__).parents[1] / "checkpoints"
# Name -> module with a plan, `train`, `measure` and at times `add_options`, and the folder of its checkpoint
TRAININGS = {
    "backpack": ("backpack.training", "backpack"),
    "ernie-doc": ("ernie_doc.training", "ernie-doc"),
    "kbert": ("kbert.training", "kbert"),
    "kbert-unseen": ("kbert.unseen", "kbert"),
    "nkb": ("nkb.training", "nkb"),
    "own-question": ("scope.own_question", "scope-facts"),
    "reading": ("reading.training", "reading"),
    "relational": ("relational.training", "relational"),
    "scope": ("scope.training", "scope"),
    "thu-ernie": ("thu_ernie.training", "thu-ernie"),
}


def main() -> None:
    """Read the command line, train, and measure."""
    parser = argparse.ArgumentParser(description="Train a checkpoint; goes on where it stopped.")
    parser.add_argument("name", choices=TRAININGS)
    parser.add_argument("--measure", action="store_true", help="only measure the checkpoint in --out again")
    parser.add_argument("--pack", type=Path, default=WORLD)
    parser.add_argument("--work", type=Path, help="progress and time spent: var/NAME/train")
    parser.add_argument("--out", type=Path, help="the checkpoint: models/checkpoints/NAME")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--until", type=int, help="stop before this step and write nothing but progress")
    parser.add_argument(
        "--sets", type=Path, help="public questions that cannot be shipped; the README says which"
    )
    name = next((word for word in sys.argv[1:] if word in TRAININGS), "")
    training: Any = import_module(f"models.training.{TRAININGS[name][0]}") if name else None
    if hasattr(training, "add_options"):
        training.add_options(parser)
    arguments, say = read_command(parser)
    work = arguments.work or Path("var") / arguments.name / "train"
    out = arguments.out or CHECKPOINTS / TRAININGS[arguments.name][1]
    run = Run(training.PLAN, arguments.pack, work, out, say, arguments.until, arguments.sets, arguments)
    if arguments.measure or training.train(run):
        training.measure(run)


if __name__ == "__main__":
    main()
