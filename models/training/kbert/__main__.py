"""`python -m models.training.kbert`: train, calibrate and measure the checkpoint of kbert, and write it.

The phases are, in order: prepare, learn, calibrate, write, measure. Each resumes or takes little time.
"""

import time
from dataclasses import asdict
from pathlib import Path

from models.graph.memory import GraphMemory
from models.kbert.checkpoint import DEFAULT as CHECKPOINT
from models.kbert.checkpoint import load, save
from models.kbert.system import KbertSystem
from models.reading.checkpoint import load as load_reader
from models.training.kbert import plan as plans
from models.training.kbert.calibrate import calibrate
from models.training.kbert.card import Report, bars, measure, write_card
from models.training.kbert.exam import Examiner
from models.training.kbert.examples import Examples
from models.training.kbert.learning import Learning
from models.training.kbert.net import Net
from models.training.kbert.plan import Plan
from models.training.kbert.prepare import Setup, prepare
from models.training.kbert.questions import QuestionMaker
from models.training.kit.command import Say, add_measure, describe_command, read_command
from models.training.kit.progress import Progress, seconds_by_phase

WORK = Path("var/kbert/train")


def main() -> None:
    parser = describe_command("kbert", WORK, CHECKPOINT, plans.DEFAULT.threads)
    add_measure(parser)
    arguments, say = read_command(parser)
    run = measure_again if arguments.measure else train
    run(plans.DEFAULT, arguments.pack, arguments.work, arguments.out, say)


def train(plan: Plan, pack: Path, work: Path, out: Path, say: Say) -> None:
    """Train on the pack in `pack` and write the checkpoint with its card.

    The result is the same for the same plan, pack and processor.
    """
    start, earlier_s = time.monotonic(), sum(seconds_by_phase(work).values())
    setup = prepare(plan, pack, work, say)
    net = Net(plan)
    examples = Examples(setup.world, plan.mixture, plan.seed)
    Learning(plan, net, examples, setup.ranks, setup.tokens, say).run(
        Progress(work, setup.files.fingerprint(asdict(plan)))
    )
    graph = GraphMemory.of(pack)
    say("calibrating")
    save(calibrate(plan, setup, net, _question_maker(setup, graph)), out)
    report = _examine(plan, setup, KbertSystem(load(out), load_reader()), graph, say, start - earlier_s)
    write_card(out, report)
    say(f"wrote {out}")


def measure_again(plan: Plan, pack: Path, work: Path, out: Path, say: Say) -> None:
    """Measure the checkpoint in `out` again and compare it with the bars, without writing anything."""
    setup = prepare(plan, pack, work, say)
    system, graph = KbertSystem(load(out), load_reader()), GraphMemory.of(pack)
    for line in bars(measure(_examine(plan, setup, system, graph, say, time.monotonic()))):
        say(line)


def _examine(
    plan: Plan, setup: Setup, system: KbertSystem, graph: GraphMemory, say: Say, start: float
) -> Report:
    """Measure the system; `start` is by the monotonic clock, moved back by the seconds of earlier runs."""
    exam = Examiner(plan, setup, system, graph, _question_maker(setup, graph)).examine(say)
    return Report(plan, setup, system, exam, time.monotonic() - start)


def _question_maker(setup: Setup, graph: GraphMemory) -> QuestionMaker:
    relations = {**setup.relations.train, **setup.relations.held_out}
    of_pack = {id: relation for id, relation in relations.items() if not relation.is_practice}
    return QuestionMaker(setup.pack, graph.view(graph.base), of_pack)


if __name__ == "__main__":
    main()
