"""`python -m models.training.thu_ernie`: train rows and reader, fit the confidence, write the checkpoint, measure it.

The rows and the steps resume where they stopped; the rest takes minutes.
"""

from pathlib import Path

from models.thu_ernie.answering.checkpoint import DEFAULT as CHECKPOINT
from models.thu_ernie.answering.checkpoint import TABLE, load, save
from models.thu_ernie.answering.reader import SCALES
from models.training.kit.command import Say, add_measure, add_until, describe_command, read_command
from models.training.kit.progress import Progress, seconds_by_phase
from models.training.thu_ernie import plan as plans
from models.training.thu_ernie.calibrate import NO_SCALE, calibrate
from models.training.thu_ernie.card import measure, write_card
from models.training.thu_ernie.exam import Examiner
from models.training.thu_ernie.learning import Learning
from models.training.thu_ernie.plan import Plan
from models.training.thu_ernie.prepare import Setup, prepare, write_rows

WORK = Path("var/thu_ernie/train")


def main() -> None:
    """Read the arguments and train."""
    parser = describe_command("thu-ernie", WORK, CHECKPOINT)
    add_until(parser)
    add_measure(parser)
    arguments, say = read_command(parser)
    plan = plans.DEFAULT
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
