"""`python -m models.training.scope`: train the judge, calibrate it, measure it, and write the checkpoint with its card.

The phases are, in order: learn, calibrate, write, measure. The first resumes where it stopped, the others take little
time.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor

from models.confidence import Confidence
from models.device import resolve_device
from models.encoder.minilm import MiniLM
from models.encoder.pairs import PairLayers
from models.encoder.rounded import restore_matrices, round_matrices
from models.kit.checkpoint import CONFIG, WEIGHTS, parse_tensors, write_sums
from models.packs.pack import WORLD, Pack
from models.scope.judge import DEFAULT as CHECKPOINT
from models.scope.judge import FILES, Calibration, Judge
from models.scope.wordings.names import NO_NAMES, NameWeights
from models.scope.wordings.slips import NO_SLIPS
from models.training.kit.progress import Progress
from models.training.packs.names import read_names
from models.training.scope import calibrate, card, trials
from models.training.scope import plan as plans
from models.training.scope.choosing import Choosing, split_written
from models.training.scope.crowds.families import read_families
from models.training.scope.facts import WrittenFacts, read_groups
from models.training.scope.names import Names
from models.training.scope.natural import Natural
from models.training.scope.order.figures import split_figures
from models.training.scope.order.frames import split_frames
from models.training.scope.order.trials import ask_figures, ask_order
from models.training.scope.outcomes import BATCH, Outcomes, answer_trial, judge_pairs, share_turned
from models.training.scope.pairs import read_forms
from models.training.scope.plan import Plan
from models.training.scope.relations import (
    Relations,
    in_held_phrasings,
    in_other_words,
    split_relations,
)
from models.training.scope.rewrites import Rewriter
from models.training.scope.steps.learning import Learning
from models.training.scope.steps.net import Net
from models.training.scope.steps.supply import Source, Supply
from models.training.scope.wordnet import WordNet
from models.training.scope.words.names import fit_names
from models.training.scope.words.slips import fit_slips

WORK = Path("var/scope/train")
SETS = Path("../shared/editing_sets")
DIGITS = 6  # digits of a number in the configuration
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
        "--start", type=Path, help="weights of a judge to begin with, instead of the pretrained encoder"
    )
    parser.add_argument(
        "--keep", type=float, default=0.0, help="share of --start in the mean of the weights that is written"
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
    facts = split_written(plan, arguments.sets, read)
    say(f"{len(relations.train)} relations and {len(facts.train)} facts to learn from, {len(relations.choose)} and "
        f"{len(facts.choose)} to choose by, {len(relations.test)} relations for the test")  # fmt: skip
    if not arguments.measure:
        source = Source(relations.train, facts.train, arguments.sets)
        net = make_net(plan, resolve_device(arguments.device), arguments.start)
        learn(plan, net, source, arguments.work, arguments.minutes, arguments.processes, say)
        weights = net.served_weights()
        if arguments.start is not None:
            before = read_weights(arguments.start)
            weights = {name: new.lerp(before[name].float(), arguments.keep) for name, new in weights.items()}
        write(arguments.out, weights, RAW)
    finish(plan, encoder, relations, facts, arguments.sets, arguments.out, say)


def make_net(plan: Plan, device: torch.device, start: Path | None) -> Net:
    """Make the judge to train, from the weights in `start` or else from the pretrained encoder."""
    torch.manual_seed(plan.seed)
    net = Net(plan.dropout, device)
    if start is not None:
        net.load_served(read_weights(start))
    return net


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the weights of a judge, as they are served."""
    return restore_matrices(parse_tensors(path.read_bytes(), path))


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
    pack, forms = Pack.load(WORLD), read_forms()
    all_relations = [*relations.train.values(), *read_families(plan.seed).relations.values()]
    words = fit_names(all_relations, Names(pack, "train", forms), encoder, random.Random(plan.seed))
    slips = fit_slips(
        sorted({n.name for n in read_names("train")}), encoder.tokenizer, random.Random(plan.seed)
    )
    layers = PairLayers(encoder, read_weights(out / WEIGHTS), in_8_bits=True)
    judge = Judge(encoder, layers, RAW, words, slips)
    names = sorted({name.name for name in read_names("test")})
    random.Random(plan.seed).shuffle(names)
    middle = len(names) // 2
    names_to_choose = frozenset(names[middle:])
    by_type = Names(pack, "test", forms).by_type
    choosing = Choosing(
        relations.choose,
        names[middle:],
        {type: sorted(names_to_choose.intersection(group)) for type, group in by_type.items()},
        facts.choose,
        Natural(sets).statements,
        Rewriter(forms, WordNet()),
        plan.seed,
    )
    judge.calibration = fit_calibration(judge, encoder, choosing)
    write_config(out, judge.calibration, words, slips)
    say(f"{judge.calibration}")
    outcomes: list[Outcomes] = []
    reversals: list[float] = []
    for trial in make_tests(relations, pack, names[:middle], plan.seed, sets):
        say(f"judging {trial.name}: {len(trial.questions):,} questions, {len(trial.edits):,} edits")
        outcomes.append(answer_trial(trial, encoder, judge))
        reversals.append(share_turned(outcomes[-1], encoder, judge, calibrate.OPENS))
    figures = card.measure(outcomes, reversals)
    card.write_card(out, figures)
    for line in card.lines(figures):
        say(line)


def make_tests(
    relations: Relations, pack: Pack, names: Sequence[str], seed: int, sets: Path
) -> Iterator[trials.Trial]:
    """Yield the trials that the judge is measured on."""
    of_pack = in_held_phrasings(relations.train, pack)
    yield replace(trials.edit_one_each(of_pack, names, seed), name="relations of the pack")
    yield from (make(relations.test, names, seed) for make in FACT_TRIALS)
    yield replace(
        trials.edit_half(in_other_words(relations.test, seed), names, seed),
        name="half of the facts edited, other writers' words",
    )
    yield ask_order(split_frames(seed)[2], seed)
    yield ask_figures(split_figures(seed)[1], seed)
    voice = trials.ask_written(read_groups(sets, plans.DEFAULT.held_voice, is_held=True))
    yield replace(voice, name="a voice held out")
    yield trials.read_crowds()
    yield trials.read_groups_trial(sets)
    yield trials.read_qaedit(sets)
    yield trials.read_counterfact(sets)
    yield trials.read_near()
    yield trials.misspell_names(relations.test, names, seed)
    yield trials.ask_neighbours(relations.test, sorted({name.name for name in read_names("test")}), seed)
    yield trials.ask_by_alias(relations.test, pack, seed)


def fit_calibration(judge: Judge, encoder: MiniLM, choosing: Choosing) -> Calibration:
    """Fit the calibration on the relations, names and facts for choosing."""
    relations, names, seed = choosing.relations, choosing.names, choosing.seed
    pairs = [judge_pairs(trial, encoder, judge) for trial in choosing.make_trials()]
    fit = calibrate.fit_rival(pairs, calibrate.fit(pairs))
    highest, lift = (
        max(float(column.max()) for column in columns)
        for columns in ([part.raw for part in pairs], [fit.weigh(part.signs) for part in pairs])
    )
    fit = replace(fit, highest=highest, lift=lift)
    about_facts = [make(relations, names, seed) for make in FACT_TRIALS]
    with_names = (*about_facts, trials.misspell_names(relations, names, seed))
    outcomes = []
    for slip in (1.0, 0.0):
        judge.calibration = replace(fit, slip=slip)
        outcomes.append([answer_trial(trial, encoder, judge) for trial in with_names])
    return replace(fit, slip=calibrate.fit_slip(*outcomes))


def write(out: Path, weights: dict[str, Tensor], calibration: Calibration) -> None:
    out.mkdir(parents=True, exist_ok=True)
    save_file(round_matrices(weights), out / WEIGHTS)
    write_config(out, calibration, NO_NAMES, NO_SLIPS)


def write_config(out: Path, calibration: Calibration, names: NameWeights, slips: Confidence) -> None:
    parts = {"calibration": asdict(calibration), "names": asdict(names), "slips": asdict(slips)}
    (out / CONFIG).write_text(json.dumps(_round(parts), indent=1) + "\n")
    write_sums(out, FILES)


def _round(value: Any) -> Any:
    """Return the value with its numbers in DIGITS digits, as JSON keeps them."""
    if isinstance(value, Mapping):
        return {key: _round(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_round(part) for part in value]
    return float(f"{value:.{DIGITS}g}")


@torch.inference_mode()
def read_sentences(encoder: MiniLM, texts: Sequence[str]) -> Float[Tensor, "text width"]:
    batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
    return torch.cat([encoder.encode(batch).sentences for batch in batches])


if __name__ == "__main__":
    main()
