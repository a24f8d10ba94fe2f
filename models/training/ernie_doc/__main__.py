"""`python -m models.training.ernie_doc`: train, fit the confidence, write the checkpoint and measure it.

The steps resume where they stopped; the rest takes minutes.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from models.device import resolve_device
from models.encoder.bert import WIDTH
from models.encoder.minilm import MiniLM
from models.ernie_doc.loading.checkpoint import Checkpoint, Settings, load, save
from models.ernie_doc.loading.minilm import load_tokenizer
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.answer import AnswerRule
from models.ernie_doc.reading.choosing import MOST_WINDOWS, Chooser
from models.ernie_doc.reading.packing import Packing
from models.ernie_doc.reading.reader import Reader
from models.ernie_doc.reading.store import StateStore
from models.packs.pack import Pack
from models.reading.checkpoint import read_tensors
from models.reading.spans import SpanRule
from models.training.ernie_doc import plan as plans
from models.training.ernie_doc.card import write_card
from models.training.ernie_doc.composed import build_world
from models.training.ernie_doc.exam import READINGS, exam_texts, examine, readings_of
from models.training.ernie_doc.examples import Examples
from models.training.ernie_doc.learning import Learning, build_model
from models.training.ernie_doc.plan import Plan
from models.training.harness.command import Say, add_until, describe_command, read_command
from models.training.harness.progress import Progress, seconds_by_phase
from models.training.reading.calibrate import calibrate
from models.training.reading.outcomes import by_kind

WORK = Path("var/ernie_doc/train")
CHECKPOINT = Path(__file__).parents[2] / "checkpoints" / "ernie-doc"
N_BEST, BATCH = 5, 8  # spans that are kept of a document, and windows that are read at once
CALIBRATION = ("passages", "written", "composed", "2,000 tokens")  # texts that the confidence is fitted on
STORE_BYTES = 2**30  # bytes for the states of an exam


def main() -> None:
    """Read the arguments and train."""
    parser = describe_command("ernie-doc", WORK, CHECKPOINT)
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--start", type=Path, help="checkpoint whose positions are kept; without one they are random"
    )
    add_until(parser)
    arguments, say = read_command(parser)
    device = resolve_device(arguments.device)
    start = load(arguments.start).model if arguments.start else None
    train(plans.DEFAULT, arguments.pack, arguments.work, arguments.out, device, arguments.until, say, start)


def train(
    plan: Plan,
    pack_folder: Path,
    work: Path,
    out: Path,
    device: torch.device,
    until: int | None,
    say: Say,
    start: ErnieDoc | None = None,
) -> None:
    """Train on documents and on the facts of a pack, and write a checkpoint with its card."""
    work.mkdir(parents=True, exist_ok=True)
    pack, tokenizer = Pack.load(pack_folder), load_tokenizer()
    packing = Packing.of(tokenizer, plan.model.segment, plan.question_room, plan.overlap, plan.model.points)
    examples = Examples(build_world(pack, "train"), plan.mixture, tokenizer, plan.question_room, plan.seed)
    layers = read_tensors() if plan.model.width == WIDTH else None
    model = build_model(plan, layers, start).to(device)
    learning = Learning(plan, model, examples, packing, say, layers)
    learning.run(Progress(work, plans.fingerprint(plan, pack_folder)), until)
    if until is not None and until < plan.steps:
        return
    rule = AnswerRule(SpanRule(plan.longest, N_BEST, "margin"), BATCH, MOST_WINDOWS)
    chooser = Chooser(MiniLM(device=device))
    with tempfile.TemporaryDirectory() as folder:
        store = StateStore(Path(folder), STORE_BYTES)  # each question of a document finds its states there
        say("fitting the confidence")
        parts = exam_texts(pack, "choose", plan.seed)
        reader = Reader(Checkpoint(model, "choosing"), packing, store)
        scale = calibrate(
            {name: examine(reader, chooser, parts[name], tokenizer, rule) for name in CALIBRATION}
        )
        settings = Settings(plan.question_room, plan.overlap, plan.longest, scale)
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
    write_card(out, exam, scale, sum(seconds_by_phase(work).values()))
    say(f"wrote {out}")


if __name__ == "__main__":
    main()
