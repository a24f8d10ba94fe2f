"""`python -m models.training.relational`: train, calibrate and measure the checkpoint of the relational reader.

The phases are, in order: prepare, learn, calibrate, write, measure. The training resumes where it stopped.
"""

from dataclasses import asdict, replace
from pathlib import Path

import torch

from models.device import learns_in_bfloat16
from models.encoder.minilm import MiniLM
from models.relational.answer import Answerer
from models.relational.checkpoint import DEFAULT as CHECKPOINT
from models.relational.checkpoint import load, save
from models.relational.question import TextReader
from models.training.kit.command import Say, add_measure, describe_command, read_command
from models.training.kit.progress import Progress, seconds_by_phase
from models.training.relational import plan as plans
from models.training.relational.card import write_card
from models.training.relational.exam import calibrate, figures, groups, put
from models.training.relational.learning import Learning
from models.training.relational.plan import Plan
from models.training.relational.prepare import Setup, prepare

WORK = Path("var/relational/train")


def main() -> None:
    """Read the command line and run."""
    parser = describe_command("relational", WORK, CHECKPOINT, plans.DEFAULT.threads)
    add_measure(parser)
    arguments, say = read_command(parser)
    plan = plans.DEFAULT
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
    dtype = torch.bfloat16 if learns_in_bfloat16(torch.device("cpu")) else torch.float32
    learning = Learning(plan, TextReader(MiniLM(dtype=dtype)), setup.train.draw, say)
    learning.run(Progress(work, setup.files.fingerprint(asdict(plan))))
    say("calibrating")
    save(learning.network, calibrate(plan, learning.network, reader, (setup.train, setup.tune)), out)
    say(f"wrote {out}")


def measure(plan: Plan, setup: Setup, work: Path, out: Path, say: Say) -> None:
    """Measure the checkpoint in `out` and write its card beside it."""
    answerer = Answerer(load(out))
    measures = {}
    for name, examples in groups(plan, setup.test, setup.new, setup.pack, setup.inverse).items():
        measures[name] = figures(put(answerer, examples))
        say(f"{name}: " + ", ".join(f"{key} {value}" for key, value in asdict(measures[name]).items()))
    write_card(out, measures, sum(seconds_by_phase(work).values()) / 60)


if __name__ == "__main__":
    main()
