"""The phases in order: prepare, learn, calibrate, write, measure. Each resumes or is quick."""

import time
from collections.abc import Callable
from pathlib import Path

from models.graph.memory import GraphMemory
from models.kbert.default import load, save
from models.kbert.system import KbertSystem
from models.training import spent
from models.training.kbert.asked import Asker
from models.training.kbert.calibrate import calibrated
from models.training.kbert.card import Report, bars, measured, write_card
from models.training.kbert.exam import Examiner
from models.training.kbert.examples import Examples
from models.training.kbert.learning import Learning
from models.training.kbert.net import Net
from models.training.kbert.plan import Plan
from models.training.kbert.prepare import Prepared, prepare
from models.training.progress import Progress

Say = Callable[[str], None]


def train_all(plan: Plan, pack: Path, work: Path, out: Path, say: Say) -> None:
    """Train on the pack in `pack` and write the checkpoint with its card.

    Deterministic for a plan, a pack and a processor.
    """
    started, earlier = time.monotonic(), spent.spent(work)
    prepared = prepare(plan, pack, work, say)
    net = Net(plan)
    examples = Examples(prepared.world, plan.mixture, plan.seed)
    learning = Learning(plan, net, examples, prepared.ranks, prepared.tokens)
    learning.run(Progress(work, prepared.fingerprint), say)
    graph = GraphMemory.of(pack)
    say("calibrating")
    save(calibrated(plan, prepared, net, _asker(prepared, graph)), out)
    report = _measured(plan, prepared, KbertSystem(load(out)), graph, say, started, sum(earlier.values()))
    write_card(out, report)
    say(f"wrote {out}")


def measure(plan: Plan, pack: Path, work: Path, out: Path, say: Say) -> None:
    """Measure the checkpoint in `out` again and say how it stands against the bars; nothing is written."""
    prepared = prepare(plan, pack, work, say)
    system, graph = KbertSystem(load(out)), GraphMemory.of(pack)
    report = _measured(plan, prepared, system, graph, say, time.monotonic(), 0.0)
    for line in bars(measured(report)):
        say(line)


def _measured(
    plan: Plan,
    prepared: Prepared,
    system: KbertSystem,
    graph: GraphMemory,
    say: Say,
    started: float,
    earlier: float,
) -> Report:
    """earlier: seconds of the runs before this one."""
    exam = Examiner(plan, prepared, system, graph, _asker(prepared, graph)).examine(say)
    return Report(plan, prepared, system, exam, earlier + time.monotonic() - started)


def _asker(prepared: Prepared, graph: GraphMemory) -> Asker:
    split = prepared.relations
    known = {id: one for id, one in {**split.train, **split.unseen}.items() if not one.practice}
    return Asker(prepared.pack, graph.view(graph.base), known)
