"""`python -m models.training.ernie_doc`: train, fit the confidence, write the checkpoint and measure it.

The steps resume where they stopped; the rest takes minutes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import torch
from tokenizers import Tokenizer

from models.confidence import Confidence
from models.device import resolve_device
from models.encoder.bert import WIDTH
from models.encoder.minilm import MiniLM
from models.ernie_doc.loading.checkpoint import Checkpoint, Settings, load, save
from models.ernie_doc.loading.minilm import load_tokenizer
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.answer import AnswerRule, Second
from models.ernie_doc.reading.choosing import MOST_WINDOWS, Chooser
from models.ernie_doc.reading.packing import Packing
from models.ernie_doc.reading.reader import Reader
from models.ernie_doc.reading.state import RecentStates
from models.packs.pack import Pack
from models.reading.checkpoint import load as load_reader
from models.reading.checkpoint import read_tensors
from models.reading.spans import SpanRule
from models.training.ernie_doc import plan as plans
from models.training.ernie_doc.card import write_card
from models.training.ernie_doc.composed import build_world
from models.training.ernie_doc.exam import LONGEST, READINGS, exam_texts, examine, readings_of
from models.training.ernie_doc.examples import Examples
from models.training.ernie_doc.learning import Learning, build_model
from models.training.ernie_doc.plan import Plan
from models.training.kit.command import Say, add_measure, add_until, describe_command, read_command
from models.training.kit.progress import Progress, seconds_by_phase
from models.training.reading.calibrate import calibrate
from models.training.reading.outcomes import Outcome, by_kind

WORK = Path("var/ernie_doc/train")
CHECKPOINT = Path(__file__).parents[2] / "checkpoints" / "ernie-doc"
N_BEST, BATCH = 5, 8  # spans that are kept of a document, and windows that are read at once
SHARES = (0.0, 0.5, 0.75)  # shares of the reader of all systems that are tried
STORE_BYTES = 2**30  # bytes for the states of an exam


def main() -> None:
    """Read the arguments and train."""
    parser = describe_command("ernie-doc", WORK, CHECKPOINT)
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--start", type=Path, help="checkpoint whose positions are kept; without one they are random"
    )
    add_until(parser)
    add_measure(parser)
    arguments, say = read_command(parser)
    device = resolve_device(arguments.device)
    if arguments.measure:
        model = load(arguments.out, device).model
    else:
        start = load(arguments.start).model if arguments.start else None
        learnt = train(plans.DEFAULT, arguments.pack, arguments.work, device, arguments.until, say, start)
        if learnt is None:
            return
        model = learnt
    finish(plans.DEFAULT, arguments.pack, model, arguments.work, arguments.out, say)


def train(
    plan: Plan,
    pack_folder: Path,
    work: Path,
    device: torch.device,
    until: int | None,
    say: Say,
    start: ErnieDoc | None = None,
) -> ErnieDoc | None:
    """Train on documents and on the facts of a pack; return None if it stopped before its end."""
    work.mkdir(parents=True, exist_ok=True)
    tokenizer, world = load_tokenizer(), build_world(Pack.load(pack_folder), "train")
    examples = Examples(world, plan.mixture, tokenizer, plan.question_room, plan.seed)
    layers = read_tensors() if plan.model.width == WIDTH else None
    model = build_model(plan, layers, start).to(device)
    learning = Learning(plan, model, examples, make_packing(plan, tokenizer), say, layers)
    learning.run(Progress(work, plans.fingerprint(plan, pack_folder)), until)
    return None if until is not None and until < plan.steps else model


def make_packing(plan: Plan, tokenizer: Tokenizer) -> Packing:
    """Return how windows become segments."""
    return Packing.of(tokenizer, plan.model.segment, plan.question_room, plan.overlap, plan.model.points)


def finish(plan: Plan, pack_folder: Path, model: ErnieDoc, work: Path, out: Path, say: Say) -> None:
    """Choose the reader's share, fit the confidence, write the checkpoint, and measure it."""
    pack, tokenizer, device = Pack.load(pack_folder), load_tokenizer(), model.device
    packing, chooser = make_packing(plan, tokenizer), Chooser(MiniLM(device=device))
    rule = AnswerRule(SpanRule(plan.longest, N_BEST, "margin"), BATCH, MOST_WINDOWS)
    store = RecentStates(STORE_BYTES)  # each question of a document finds its states there
    say("fitting the confidence")
    parts = exam_texts(pack, "choose", plan.seed)
    reader = Reader(Checkpoint(model, "choosing"), packing, store)
    share, scale = choose_share(
        lambda rule: {
            name: examine(reader, chooser, texts, tokenizer, rule)
            for name, texts in parts.items()
            if texts and name != LONGEST
        },
        rule,
        device,
        say,
    )
    settings = Settings(plan.question_room, plan.overlap, plan.longest, scale, share)
    rule = with_reader(rule, share, device)
    save(model.cpu(), out, "minilm", torch.float16, settings)
    say(f"wrote {out}, measuring")
    reader, exam = Reader(load(out, device), packing, store), {}
    for name, part in exam_texts(pack, "test", plan.seed).items():
        exam[name] = {
            reading: examine(reader, chooser, part, tokenizer, replace(rule, **READINGS[reading]))
            for reading in readings_of(name)
        }
        for reading, outcomes in exam[name].items():
            say(f"{name}, {reading}: {by_kind(outcomes, scale)['all']}")
    write_card(out, exam, scale, share, sum(seconds_by_phase(work).values()))
    say(f"wrote {out}")


def with_reader(rule: AnswerRule, share: float, device: torch.device) -> AnswerRule:
    """Return the rule with the reader of all systems as the second one, if it has a share."""
    return replace(rule, second=Second(load_reader(device=device), share) if share else None)


def choose_share(
    examine_all: Callable[[AnswerRule], Mapping[str, Sequence[Outcome]]],
    rule: AnswerRule,
    device: torch.device,
    say: Say,
) -> tuple[float, Confidence]:
    """Return the reader's share with the highest F1 on the texts for choosing, and the scale of answers with it."""
    figures: list[tuple[float, float, Confidence]] = []
    for share in SHARES:
        parts = examine_all(with_reader(rule, share, device))
        scale = calibrate(parts)
        f1 = fmean(by_kind(outcomes, scale)["all"].f1 for outcomes in parts.values())
        say(f"the reader's share {share}: F1 {f1:.1f}")
        figures.append((f1, share, scale))
    _, share, scale = max(figures, key=lambda row: row[0])
    return share, scale


if __name__ == "__main__":
    main()
