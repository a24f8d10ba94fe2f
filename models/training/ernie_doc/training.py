"""The training of ernie-doc: its steps, the share of the reader of all systems, its scale and its exam."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import torch
from tokenizers import Tokenizer

from models.device import resolve_device
from models.encoder.bert import WIDTH
from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.ernie_doc.answer import MOST_WINDOWS, AnswerRule, Second
from models.ernie_doc.checkpoint import Checkpoint, Settings, load, save, save_settings
from models.ernie_doc.reader import Packing, Reader
from models.ernie_doc.state import recent_states
from models.ernie_doc.windows import Chooser
from models.kit.checkpoint import WEIGHTS
from models.packs.files import digest
from models.packs.pack import Pack
from models.reading.checkpoint import DEFAULT as READER
from models.reading.checkpoint import load as load_reader
from models.reading.checkpoint import read_tensors
from models.reading.spans import SpanRule
from models.training.ernie_doc.composed import build_world
from models.training.ernie_doc.exam import READINGS, choosing_texts, exam_texts, examine, readings_of
from models.training.ernie_doc.examples import Examples
from models.training.ernie_doc.learning import Learning, build_model
from models.training.kit.card import fill_card
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import Plan, read_plan
from models.training.kit.run import Run
from models.training.reading.calibrate import calibrate
from models.training.reading.outcomes import Outcome, by_kind
from models.training.reading.written.texts import DOCUMENTS, PASSAGES, Text

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)
STORE_BYTES = 2**30  # bytes for the states of an exam


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that this training alone has."""
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--start", type=Path, help="checkpoint whose positions are kept; without one they are random"
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="choose the reader's share and fit the confidence again first",
    )


def train(run: Run) -> bool:
    """Train on documents and on the facts of a pack, and write the weights, without the settings of reading."""
    plan, tokenizer = run.plan, find().tokenizer()
    with DataFiles(run.pack) as files:
        world = build_world(Pack.load(run.pack), "train")
        examples = Examples(world, plan.mixture, tokenizer, plan.question_room, plan.seed)
    files.paths.update(path for folder in (DOCUMENTS, PASSAGES) for path in folder.glob("*.jsonl"))
    start = load(run.options.start).model if run.options.start else None
    layers = read_tensors() if plan.model.width == WIDTH else None
    model = build_model(plan, layers, start).to(_device(run))
    learning = Learning(plan, model, examples, make_packing(plan, tokenizer), run.say, layers)
    if not run.take(learning, files.fingerprint(plan.to_json(), reader=digest(READER / WEIGHTS))):
        return False
    save(model.cpu(), run.out, "minilm", torch.float16)
    return True


def choose_settings(run: Run, checkpoint: Checkpoint, tokenizer: Tokenizer) -> Settings:
    """Return the reader's share with the highest F1 on the texts for choosing, and the scale of answers with it."""
    plan, choices, parts = run.plan, list[tuple[float, Settings]](), choosing_texts(run.plan.seed)
    ask = open_exam(run, checkpoint, tokenizer)
    for share in plan.exam.shares:
        rule = make_rule(run, share)
        outcomes = {name: ask(part, rule) for name, part in parts.items()}
        scale = calibrate(outcomes)
        f1 = fmean(by_kind(part, scale)["all"]["f1"] for part in outcomes.values())
        run.say(f"the reader's share {share}: F1 {f1:.1f}")
        choices.append((f1, Settings(plan.question_room, plan.overlap, plan.longest, scale, share)))
    return max(choices, key=lambda pair: pair[0])[1]


def measure(run: Run) -> None:
    """Choose the settings of reading if there are none or `--calibrate` asks for it, measure, and write the card."""
    checkpoint, tokenizer, figures = load(run.out, _device(run)), find().tokenizer(), {}
    settings = checkpoint.settings
    if settings is None or run.options.calibrate:
        settings = choose_settings(run, checkpoint, tokenizer)
        save_settings(run.out, settings)
    rule = make_rule(run, settings.reader_share)
    ask = open_exam(run, checkpoint, tokenizer)
    for name, part in exam_texts(Pack.load(run.pack), run.plan.seed).items():
        for reading in readings_of(name):
            outcomes = ask(part, replace(rule, **READINGS[reading]))
            for kind, row in by_kind(outcomes, settings.confidence).items():
                figures[f"{name}/{reading}/{kind}"] = row
            run.say(f"{name}, {reading}: {figures[f'{name}/{reading}/all']}")
    shares = {"threshold": 100 * settings.confidence.threshold, "share": 100 * settings.reader_share}
    fill_card(run.out, FOLDER / "card.md", figures, by="f1", minutes=run.minutes, **shares)


def open_exam(
    run: Run, checkpoint: Checkpoint, tokenizer: Tokenizer
) -> Callable[[Sequence[Text], AnswerRule], list[Outcome]]:
    """Return an exam in whose store each question of a document finds the states of that document."""
    reader = Reader(checkpoint, make_packing(run.plan, tokenizer), recent_states(STORE_BYTES))
    return partial(examine, reader, Chooser(MiniLM(device=_device(run))), tokenizer)


def make_rule(run: Run, share: float) -> AnswerRule:
    """Return the rule of answers, with the reader of all systems as the second one, if it has a share."""
    spans = SpanRule(run.plan.longest, run.plan.exam.n_best)
    second = Second(load_reader(device=_device(run)), share) if share else None
    return AnswerRule(spans, run.plan.exam.batch, MOST_WINDOWS, second=second)


def _device(run: Run) -> torch.device:
    return resolve_device(run.options.device)


def make_packing(plan: Plan, tokenizer: Tokenizer) -> Packing:
    """Return how windows become segments."""
    return Packing.of(tokenizer, plan.model.segment, plan.question_room, plan.overlap, plan.model.points)
