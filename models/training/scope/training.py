"""The training of the judge of the scope: learn by the clock, calibrate, measure."""

import argparse
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from more_itertools import chunked
from torch import Tensor

from models.confidence import Confidence
from models.device import resolve_device
from models.encoder.layers import restore_matrices, round_matrices
from models.encoder.minilm import MiniLM
from models.encoder.pairs import PairLayers
from models.kit.checkpoint import CONFIG, WEIGHTS, parse_tensors, save
from models.packs.files import digest
from models.packs.pack import Pack
from models.scope.judge import Calibration, Judge
from models.scope.wordings.names import NO_NAMES, NameWeights
from models.scope.wordings.slips import NO_SLIPS
from models.training.kit.card import fill_card
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import read_plan
from models.training.kit.progress import Progress
from models.training.kit.run import Run
from models.training.packs.names import read_names
from models.training.scope import calibrate, trials
from models.training.scope.choosing import Choosing, split_written
from models.training.scope.names import Names
from models.training.scope.order.frames import split_figures, split_frames
from models.training.scope.order.trials import ask_figures, ask_order
from models.training.scope.outcomes import BATCH, OPENS, answer_trial, describe, judge_pairs, share_turned
from models.training.scope.pairs import Source
from models.training.scope.relations import deal_relations, in_held_phrasings, in_other_words
from models.training.scope.slips import fit_slips
from models.training.scope.steps.batches import Batches
from models.training.scope.steps.learning import Learning
from models.training.scope.steps.net import Net
from models.training.scope.words import fit_names
from models.training.scope.written import WrittenFacts, read_groups
from models.training.texts.relations import Relations

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)
DIGITS = 6  # digits of a number in the configuration
RAW = Calibration(1.0, 0.0, 0.0)  # the judge without a calibration
FACT_TRIALS = (trials.edit_one_each, trials.edit_half)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that this training alone has."""
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


class Setup(NamedTuple):
    """The inputs of a training."""

    encoder: MiniLM
    pack: Pack
    relations: Relations
    facts: WrittenFacts
    sets: Path  # folder of the editing sets
    batches: Batches
    source: Source
    fingerprint: str


def prepare(run: Run) -> Setup:
    """Deal relations and facts, and read what pairs are drawn from."""
    plan, sets, encoder = run.plan, run.editing_sets("scope"), MiniLM()
    read = partial(read_sentences, encoder)
    with DataFiles(run.pack) as files:
        pack = Pack.load(run.pack)
        relations, facts = deal_relations(plan, pack, read), split_written(plan, sets, read)
        batches = Batches(plan, run.pack, relations.train, facts.train, NO_NAMES, sets, time.time_ns())
        source = batches.source()
    every = [*source.relations.values(), *source.families.relations.values()]
    batches = replace(batches, names=fit_names(every, source.names, encoder, random.Random(plan.seed)))
    run.say(f"{len(relations.train)} relations and {len(facts.train)} facts to learn from, {len(relations.tune)} and "
        f"{len(facts.choose)} to choose by, {len(relations.held_out)} relations for the test")  # fmt: skip
    marks = sorted(digest(path) for path in sets.rglob("*.*"))
    mark = files.fingerprint(plan.to_json(), sets=marks)
    return Setup(encoder, pack, relations, facts, sets, batches, source, mark)


def train(run: Run) -> bool:
    """Train the judge until the minutes are spent, and write its weights without a calibration."""
    setup, options = prepare(run), run.options
    torch.manual_seed(run.plan.seed)
    net = Net(run.plan.dropout, resolve_device(options.device))
    before = None if options.start is None else read_weights(options.start)
    if before is not None:
        net.load_served(before)
    run.work.mkdir(parents=True, exist_ok=True)
    batches = setup.batches.load(options.processes)
    learning = Learning(run.plan, net, batches, 60 * options.minutes, run.say)
    learning.run(Progress(run.work, setup.fingerprint), run.until)
    if run.until is not None:
        return False
    weights = net.served_weights()
    if before is not None:
        weights = {
            name: new.lerp(before.get(name, new).float(), options.keep) for name, new in weights.items()
        }
    write(run.out, weights, RAW)
    return True


def measure(run: Run) -> None:
    """Calibrate the judge on the relations and facts for choosing, measure it on the others, and write its card."""
    setup = prepare(run)
    encoder, pack, source, seed = setup.encoder, setup.pack, setup.source, run.plan.seed
    words = setup.batches.names
    slips = fit_slips(sorted({n.name for n in read_names("train")}), encoder.tokenizer, random.Random(seed))
    layers = PairLayers(encoder, read_weights(run.out / WEIGHTS), in_8_bits=True)
    judge = Judge(encoder, layers, RAW, words, slips)
    names = sorted({name.name for name in read_names("test")})
    random.Random(seed).shuffle(names)
    middle = len(names) // 2
    by_type = {
        type: [name for name in group if name in set(names[middle:])]
        for type, group in Names(pack, "test", source.forms).by_type.items()
    }
    statements, facts = source.natural.statements, setup.facts.choose
    choosing = Choosing(
        setup.relations.tune, names[middle:], by_type, facts, statements, source.rewriter, seed
    )
    judge.calibration = fit_calibration(judge, encoder, choosing)
    save(run.out, {}, {CONFIG: describe_judge(judge.calibration, words, slips)}, (WEIGHTS,))
    run.say(f"{judge.calibration}")
    outcomes = []
    for trial in make_tests(setup, names[:middle], run):
        run.say(f"judging {trial.name}: {len(trial.questions):,} questions, {len(trial.edits):,} edits")
        answers = answer_trial(trial, encoder, judge)
        outcomes.append((answers, share_turned(answers, encoder, judge, OPENS)))
    figures, tables = describe(outcomes)
    fill_card(run.out, FOLDER / "card.md", figures, tables=tables)
    run.say(tables)


def make_tests(setup: Setup, names: Sequence[str], run: Run) -> Iterator[trials.Trial]:
    """Yield the trials that the judge is measured on."""
    plan, pack, sets, test = run.plan, setup.pack, setup.sets, setup.relations.held_out
    seed, of_pack = plan.seed, in_held_phrasings(setup.relations.train, pack)
    yield replace(trials.edit_one_each(of_pack, names, seed), name="relations of the pack")
    yield from (make(test, names, seed) for make in FACT_TRIALS)
    in_words = trials.edit_half(in_other_words(test, seed), names, seed)
    yield replace(in_words, name="half of the facts edited, other writers' words")
    yield ask_order(split_frames(seed)[2], seed)
    yield ask_figures(split_figures(seed)[1], seed)
    voice = read_groups([sets / "groups" / f"{plan.held_voice}.jsonl"])
    yield trials.ask_written(voice, "a voice held out")
    yield trials.read_crowds()
    yield from (
        read(sets) for read in (trials.read_groups_trial, trials.read_qaedit, trials.read_counterfact)
    )
    yield trials.read_near()
    yield trials.misspell_names(test, names, seed)
    yield trials.ask_neighbours(test, sorted({name.name for name in read_names("test")}), seed)
    yield trials.ask_by_alias(test, pack, seed)


def fit_calibration(judge: Judge, encoder: MiniLM, choosing: Choosing) -> Calibration:
    """Fit the calibration on the relations, names and facts for choosing."""
    sources = choosing.relations, choosing.names, choosing.seed
    pairs = [judge_pairs(trial, encoder, judge) for trial in choosing.make_trials()]
    fit = calibrate.fit_rival(pairs, calibrate.fit(pairs))
    columns = [part.raw for part in pairs], [fit.weigh(part.signs) for part in pairs]
    highest, lift = (max(float(column.max()) for column in parts) for parts in columns)
    fit = replace(fit, highest=highest, lift=lift)
    with_names = [make(*sources) for make in (*FACT_TRIALS, trials.misspell_names)]
    outcomes = []
    for slip in (1.0, 0.0):
        judge.calibration = replace(fit, slip=slip)
        outcomes.append([answer_trial(trial, encoder, judge) for trial in with_names])
    return replace(fit, slip=calibrate.fit_slip(*outcomes))


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the weights of a judge, as they are served."""
    return restore_matrices(parse_tensors(path.read_bytes(), path))


def write(out: Path, weights: dict[str, Tensor], calibration: Calibration) -> None:
    """Write a judge without the numbers of words."""
    config = describe_judge(calibration, NO_NAMES, NO_SLIPS)
    save(out, {WEIGHTS: round_matrices(weights)}, {CONFIG: config})


def describe_judge(calibration: Calibration, names: NameWeights, slips: Confidence) -> Any:
    """Return the configuration of a judge as JSON."""
    return _round({"calibration": asdict(calibration), "names": asdict(names), "slips": asdict(slips)})


def _round(value: Any) -> Any:
    """Return the value with its numbers in DIGITS digits, as JSON keeps them."""
    if isinstance(value, Mapping):
        return {key: _round(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_round(part) for part in value]
    return float(f"{value:.{DIGITS}g}")


@torch.inference_mode()
def read_sentences(encoder: MiniLM, texts: Sequence[str]) -> Float[Tensor, "text width"]:
    """Return the sentence vectors of texts."""
    return torch.cat([encoder.encode(batch).sentences for batch in chunked(texts, BATCH)])
