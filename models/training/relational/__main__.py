"""`python -m models.training.relational`: train, calibrate and measure the checkpoint of the relational reader.

The phases are, in order: prepare, learn, calibrate, write, measure. The training resumes where it stopped.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch

from models.device import learns_in_bfloat16
from models.encoder.minilm import MiniLM
from models.packs.pack import WORLD
from models.relational.answer import Answerer
from models.relational.checkpoint import DEFAULT as CHECKPOINT
from models.relational.checkpoint import load, save
from models.relational.question import TextReader
from models.training.progress import Progress, add_seconds, seconds_by_phase
from models.training.relational import plan as plans
from models.training.relational.calibrate import calibrate
from models.training.relational.card import write_card
from models.training.relational.exam import figures, groups, put
from models.training.relational.learning import Learning
from models.training.relational.plan import Plan
from models.training.relational.prepare import Setup, prepare

WORK = Path("var/relational/train")
Say = Callable[[str], None]


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Train the relational reader; resumes where it stopped.")
    parser.add_argument("--pack", type=Path, default=WORLD)
    parser.add_argument("--work", type=Path, default=WORK, help="progress, and time spent")
    parser.add_argument("--out", type=Path, default=CHECKPOINT)
    parser.add_argument("--measure", action="store_true", help="only measure the checkpoint in --out again")
    parser.add_argument(
        "--steps", type=int, default=plans.DEFAULT.steps, help="fewer, to see whether it runs"
    )
    parser.add_argument("--exam", type=int, default=plans.DEFAULT.n_exam, help="questions of a group")
    parser.add_argument("--threads", type=int, default=plans.DEFAULT.threads)
    arguments = parser.parse_args()
    start = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start:6.0f} s] {line}", flush=True)

    torch.set_num_threads(arguments.threads)
    plan = replace(plans.DEFAULT, steps=arguments.steps, n_exam=arguments.exam, threads=arguments.threads)
    if arguments.measure:
        plan = replace(plan, config=load(arguments.out).config)
    reader = TextReader(MiniLM())
    setup = prepare(plan, arguments.pack, reader, say)
    if not arguments.measure:
        train(plan, setup, reader, arguments.work, arguments.out, say)
    measure(plan, setup, arguments.work, arguments.out, say)


def train(plan: Plan, setup: Setup, reader: TextReader, work: Path, out: Path, say: Say) -> None:
    """Train, calibrate and write the checkpoint; deterministic for a plan, a pack and a processor."""
    work.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    dtype = torch.bfloat16 if learns_in_bfloat16(torch.device("cpu")) else torch.float32
    learning = Learning(plan, TextReader(MiniLM(dtype=dtype)), setup.train.draw)
    learning.run(Progress(work, setup.fingerprint), say)
    add_seconds(work, "learn", time.monotonic() - start)
    say(f"calibrating; learning took {seconds_by_phase(work)['learn']:.0f} s in all runs")
    save(learning.network, calibrate(plan, learning.network, reader, (setup.train, setup.tune)), out)
    say(f"wrote {out}")


def measure(plan: Plan, setup: Setup, work: Path, out: Path, say: Say) -> None:
    """Measure the checkpoint in `out` and write its card beside it."""
    answerer = Answerer(load(out))
    measures = {}
    for name, examples in groups(plan, setup.test, setup.new, setup.pack, setup.inverse).items():
        measures[name] = figures(put(answerer, examples))
        say(f"{name}: " + ", ".join(f"{key} {value}" for key, value in asdict(measures[name]).items()))
    write_card(out, measures, seconds_by_phase(work).get("learn", 0.0) / 60)


if __name__ == "__main__":
    main()
