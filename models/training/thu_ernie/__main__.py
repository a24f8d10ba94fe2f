"""`python -m models.training.thu_ernie`: train rows and reader, fit the confidence, write the checkpoint, measure it.

The rows and the steps resume where they stopped; the rest takes minutes.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import torch

from models.packs.pack import WORLD
from models.thu_ernie.answering.checkpoint import DEFAULT as CHECKPOINT
from models.thu_ernie.answering.checkpoint import TABLE, load, save
from models.thu_ernie.answering.reader import SCALES
from models.training.progress import Progress, seconds_by_phase
from models.training.thu_ernie import plan as plans
from models.training.thu_ernie.calibrate import NO_SCALE, calibrate
from models.training.thu_ernie.card import measure, write_card
from models.training.thu_ernie.exam import Examiner
from models.training.thu_ernie.learning import Learning, Say
from models.training.thu_ernie.plan import Plan
from models.training.thu_ernie.prepare import Setup, prepare, write_rows

WORK = Path("var/thu_ernie/train")


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(
        description="Train the checkpoint of thu-ernie; resumes where it stopped."
    )
    parser.add_argument("--pack", type=Path, default=WORLD)
    parser.add_argument("--work", type=Path, default=WORK, help="rows, progress and time spent")
    parser.add_argument("--out", type=Path, default=CHECKPOINT)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=plans.DEFAULT.steps, help="of the whole training")
    parser.add_argument(
        "--ablation", choices=plans.ABLATIONS, default="none", help="with another --work and --out"
    )
    parser.add_argument("--until", type=int, help="stop before this step and write nothing but progress")
    parser.add_argument("--measure", action="store_true", help="only measure the checkpoint in --out again")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    start = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start:6.0f} s] {line}", flush=True)

    plan = replace(plans.ABLATIONS[arguments.ablation], steps=arguments.steps)
    say("rows of entities")
    setup = prepare(plan, arguments.pack, arguments.work)
    if not arguments.measure:
        train(plan, setup, arguments.work, arguments.out, arguments.until, say)
    if arguments.until is None or arguments.until >= plan.steps:
        examine(plan, setup, arguments.work, arguments.out, say)


def train(plan: Plan, setup: Setup, work: Path, out: Path, until: int | None, say: Say) -> None:
    """Train, fit the confidence and write the checkpoint; deterministic for a plan, a pack and a processor."""
    work.mkdir(parents=True, exist_ok=True)
    learning = Learning(plan, setup, say)
    learning.run(Progress(work, setup.fingerprint), until)
    if until is not None and until < plan.steps:
        return
    answers = write_rows(setup, out / TABLE)
    save(learning.network, answers, plan.settings, dict.fromkeys(SCALES, NO_SCALE), out)
    say("fitting the confidence")
    confidences = calibrate(plan, Examiner(load(out), setup, plan))
    save(learning.network, answers, plan.settings, confidences, out)
    say(f"wrote {out}")


def examine(plan: Plan, setup: Setup, work: Path, out: Path, say: Say) -> None:
    """Measure the checkpoint in `out` and write its figures beside it."""
    say("measuring")
    measures = measure(plan, Examiner(load(out), setup, plan))
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    write_card(out, measures, sum(seconds_by_phase(work).values()), size)
    for name, figures in measures.items():
        say(f"{name}: {figures}")


if __name__ == "__main__":
    main()
