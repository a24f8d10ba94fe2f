"""The training of the reader that all systems share: its texts, its steps, its scale and its exam."""

import argparse
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from models.device import resolve_device
from models.encoder.weights import find
from models.kit.checkpoint import parse_tensors
from models.kit.text import WordPieces
from models.packs.pack import Pack
from models.reading.checkpoint import load, save
from models.reading.confidence import NO_SCALE
from models.reading.reader import Settings
from models.training.kit.card import fill_card, table
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import read_plan
from models.training.kit.run import Run
from models.training.reading.calibrate import calibrate
from models.training.reading.composed import PassageMaker
from models.training.reading.exam import exam_texts, examine, measure_corrections
from models.training.reading.examples import Examples
from models.training.reading.learning import Learning
from models.training.reading.net import ReadingNet
from models.training.reading.outcomes import by_kind
from models.training.reading.pretext import Pretext
from models.training.reading.prose import read_prose
from models.training.reading.written.texts import HELD_HAND
from models.training.thu_ernie.training import PLAN as COMPOSING
from models.training.thu_ernie.wordings import Wordings

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)
COLUMNS = "texts | kind of question | questions | exact match | F1 | wrong | calibration error"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that this training alone has."""
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--start", type=Path, help="weights of a reader to begin with, without the phase of masked spans"
    )


def train(run: Run) -> bool:
    """Train, fit the scale and write the checkpoint."""
    plan, start, tokens = run.plan, run.options.start, WordPieces(find().tokenizer())
    if start is not None:
        plan = plan.change(pretext_steps=0, steps=plan.steps - plan.pretext_steps)
    pretext = Pretext(read_prose(run.work / "prose"), tokens, plan.length)
    with DataFiles(run.pack) as files:
        pack = Pack.load(run.pack)
        maker = PassageMaker(pack, Wordings.of(pack).train, COMPOSING.mixture, "train")
        examples = Examples(maker, plan, tokens)
    net = ReadingNet(plan.dropout)
    if start is not None:
        net.load(parse_tensors(start.read_bytes(), start))
    net.to(resolve_device(run.options.device))
    learning = Learning(plan, net, pretext, examples, tokens.padding, run.say)
    if not replace(run, plan=plan).take(learning, files.fingerprint(plan.to_json())):
        return False
    settings = Settings(plan.length, plan.question_room, plan.overlap, plan.longest)
    save(net.weights(), settings, NO_SCALE, run.out)
    hands = {hand: examine(load(run.out), texts) for hand, texts in exam_texts("choose").items()}
    scale = calibrate(hands)
    run.say(f"choosing: {by_kind([outcome for part in hands.values() for outcome in part], scale)}")
    save(net.weights(), settings, scale, run.out)
    return True


def measure(run: Run) -> None:
    """Measure the checkpoint on the texts of the test, and write its card beside it."""
    reader, parts = load(run.out), exam_texts("test")
    scale = reader.confidence
    exam = {name: examine(reader, part) for name, part in parts.items()}
    exam["all"] = [outcome for part in exam.values() for outcome in part]
    figures = {name: by_kind(part, scale) for name, part in exam.items()}
    rng, texts = random.Random(run.plan.seed), [text for part in parts.values() for text in part]
    sample = rng.sample(texts, min(len(texts), run.plan.n_corrected))
    corrections = measure_corrections(lambda text: examine(reader, [text]), sample, scale)
    rows = (
        (name, kind, n_questions, *(f"{figure:.1f}" for figure in shares))
        for name, kinds in figures.items()
        for kind, (n_questions, *shares) in ((kind, group.values()) for kind, group in kinds.items())
    )
    facts: Any = {"minutes": run.minutes, "threshold": 100 * scale.threshold, "hand": HELD_HAND}
    whole = {**figures, "corrections": corrections}
    fill_card(run.out, FOLDER / "card.md", whole, table="\n".join(table(COLUMNS, rows)).rstrip(), **facts)
    run.say(f"wrote {run.out}: {figures['all']}")
