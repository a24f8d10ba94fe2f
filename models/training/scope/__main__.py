"""`python -m models.training.scope`: train the judge, calibrate it, measure it, and write the checkpoint with its card.

The phases are, in order: learn, calibrate, write, measure. The first resumes where it stopped, the others take little
time.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from models.checkpoint import CONFIG, write_sums
from models.device import resolve_device
from models.encoder.minilm import MiniLM
from models.packs.pack import WORLD, Pack
from models.scope.judge import DEFAULT as CHECKPOINT
from models.scope.judge import FILES, GRAPH, Calibration, Judge
from models.training.harness.progress import Progress
from models.training.packs.names import read_names
from models.training.scope import calibrate, card, trials
from models.training.scope import plan as plans
from models.training.scope.facts import WrittenFact, WrittenFacts, read_facts, read_groups, split_facts
from models.training.scope.graph import read_weights, write_graph
from models.training.scope.outcomes import BATCH, Outcomes, answer_trial, judge_pairs, share_turned
from models.training.scope.plan import Plan
from models.training.scope.relations import (
    AskedRelation,
    Relations,
    in_held_phrasings,
    in_other_words,
    split_relations,
)
from models.training.scope.steps.learning import Learning
from models.training.scope.steps.net import Net
from models.training.scope.steps.supply import Source, Supply

WORK = Path("var/scope/train")
SETS = Path("../shared/editing_sets")
RAW = Calibration(1.0, 0.0, 0.0)  # the judge without a calibration
FACT_TRIALS = (trials.edit_one_each, trials.edit_half)
Say = Callable[[str], None]


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the judge of the scope; resumes where it stopped.")
    parser.add_argument(
        "--sets", type=Path, default=SETS, help="the editing sets: pairs, QAEdit, CounterFact"
    )
    parser.add_argument("--work", type=Path, default=WORK, help="progress and time spent")
    parser.add_argument("--out", type=Path, default=CHECKPOINT)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="length of the training; the rate falls to zero"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--start", type=Path, help="judge.onnx to begin with, instead of the pretrained encoder"
    )
    parser.add_argument("--processes", type=int, default=1, help="processes that make pairs")
    parser.add_argument("--measure", action="store_true", help="only calibrate and measure what is in --out")
    arguments = parser.parse_args()
    start_s = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start_s:6.0f} s] {line}", flush=True)

    plan, encoder = plans.DEFAULT, MiniLM()
    torch.set_num_threads(plan.threads)
    read = partial(read_sentences, encoder)
    relations = split_relations(plan, Pack.load(WORLD), read)
    tests = (trials.read_near(), trials.read_qaedit(arguments.sets), trials.read_groups_trial(arguments.sets))
    held_out = [edit for trial in tests for edit in trial.edits]
    written_facts = [*read_facts(), *read_groups(arguments.sets)]
    facts = split_facts(written_facts, plan.n_choose_facts, plan.seed, held_out, read)
    say(f"{len(relations.train)} relations and {len(facts.train)} facts to learn from, {len(relations.choose)} and "
        f"{len(facts.choose)} to choose by, {len(relations.test)} relations for the test")  # fmt: skip
    if not arguments.measure:
        source = Source(relations.train, facts.train, arguments.sets)
        net = make_net(plan, resolve_device(arguments.device), arguments.start)
        learn(plan, net, source, arguments.work, arguments.minutes, arguments.processes, say)
        write(arguments.out, net.served_weights(), RAW)
    finish(plan, encoder, relations, facts, arguments.sets, arguments.out, say)


def make_net(plan: Plan, device: torch.device, start: Path | None) -> Net:
    """Make the judge to train, from the graph `start` or else from the pretrained encoder."""
    torch.manual_seed(plan.seed)
    net = Net(plan.dropout, device)
    if start is not None:
        net.load_served(read_weights(start.read_bytes()))
    return net


def learn(plan: Plan, net: Net, source: Source, work: Path, minutes: float, processes: int, say: Say) -> None:
    """Train the net in place; a training that was interrupted goes on."""
    work.mkdir(parents=True, exist_ok=True)
    progress = Progress(work, plans.fingerprint(plan, source.sets))
    with Supply(plan, source, processes, time.time_ns()) as supply:
        Learning(plan, net).run(progress, supply, 60 * minutes, say)
        say(f"{supply.n_repeated:,} batches were read again, because no new one was there")


def finish(
    plan: Plan,
    encoder: MiniLM,
    relations: Relations,
    facts: WrittenFacts,
    sets: Path,
    out: Path,
    say: Say,
) -> None:
    """Calibrate the judge in `out` on the relations and facts for choosing, and measure it on the others."""
    judge = Judge.load(encoder, out)
    names = sorted({name.name for name in read_names("test")})
    random.Random(plan.seed).shuffle(names)
    middle = len(names) // 2
    calibration = fit_calibration(judge, encoder, plan.seed, relations.choose, names[middle:], facts.choose)
    judge.calibration = calibration
    write_config(out, calibration)
    say(f"{calibration}")
    outcomes: list[Outcomes] = []
    reversals: list[float] = []
    pack = Pack.load(WORLD)
    of_pack = in_held_phrasings(relations.train, pack)
    for trial in (
        replace(trials.edit_one_each(of_pack, names[:middle], plan.seed), name="relations of the pack"),
        *(make(relations.test, names[:middle], plan.seed) for make in FACT_TRIALS),
        replace(
            trials.edit_half(in_other_words(relations.test, plan.seed), names[:middle], plan.seed),
            name="half of the facts edited, other writers' words",
        ),
        trials.read_crowds(),
        trials.read_groups_trial(sets),
        trials.read_qaedit(sets),
        trials.read_counterfact(sets),
        trials.read_near(),
        trials.misspell_names(relations.test, names[:middle], plan.seed),
        trials.ask_by_alias(relations.test, pack, plan.seed),
    ):
        say(f"judging {trial.name}: {len(trial.questions):,} questions, {len(trial.edits):,} edits")
        outcomes.append(answer_trial(trial, encoder, judge))
        reversals.append(share_turned(outcomes[-1], encoder, judge, calibrate.OPENS))
    figures = card.measure(outcomes, reversals)
    card.write_card(out, figures)
    for line in card.lines(figures):
        say(line)


def fit_calibration(
    judge: Judge,
    encoder: MiniLM,
    seed: int,
    relations: Mapping[str, AskedRelation],
    names: Sequence[str],
    facts: Sequence[WrittenFact],
) -> Calibration:
    """Fit the calibration on the relations, names and facts for choosing."""
    about_facts = [make(relations, names, seed) for make in FACT_TRIALS]
    judge.calibration = RAW
    crowds = trials.edit_crowds(relations, seed)
    pairs = [
        judge_pairs(trial, encoder, judge) for trial in (*about_facts, trials.ask_written(facts), crowds)
    ]
    highest = max(float(part.raw.max()) for part in pairs)
    fit = replace(calibrate.fit_rival(pairs, calibrate.fit(pairs)), highest=highest)
    with_names = (*about_facts, trials.misspell_names(relations, names, seed))
    outcomes = []
    for slip in (1.0, 0.0):
        judge.calibration = replace(fit, slip=slip)
        outcomes.append([answer_trial(trial, encoder, judge) for trial in with_names])
    return replace(fit, slip=calibrate.fit_slip(*outcomes))


def write(out: Path, weights: dict[str, Tensor], calibration: Calibration) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / GRAPH).write_bytes(write_graph(weights))
    write_config(out, calibration)


def write_config(out: Path, calibration: Calibration) -> None:
    (out / CONFIG).write_text(json.dumps({"calibration": asdict(calibration)}, indent=1) + "\n")
    write_sums(out, FILES)


@torch.inference_mode()
def read_sentences(encoder: MiniLM, texts: Sequence[str]) -> Float[Tensor, "text width"]:
    batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
    return torch.cat([encoder.encode(batch).sentences for batch in batches])


if __name__ == "__main__":
    main()
