"""`python -m models.training.reading`: train the reader that all systems share, write its checkpoint and measure it."""

import random
from dataclasses import replace
from pathlib import Path

from models.device import resolve_device
from models.encoder.weights import find
from models.kit.checkpoint import parse_tensors
from models.kit.text import WordPieces
from models.packs.pack import Pack
from models.reading.checkpoint import DEFAULT, load, save
from models.reading.confidence import NO_SCALE
from models.reading.reader import Settings
from models.training.kit.command import Say, add_until, describe_command, read_command
from models.training.kit.progress import Progress, seconds_by_phase
from models.training.reading import plan as plans
from models.training.reading.calibrate import calibrate
from models.training.reading.card import write_card
from models.training.reading.composed import PassageMaker
from models.training.reading.exam import exam_texts, examine, measure_corrections
from models.training.reading.examples import Examples
from models.training.reading.learning import Learning
from models.training.reading.net import ReadingNet
from models.training.reading.outcomes import by_kind
from models.training.reading.plan import Plan
from models.training.reading.pretext import Pretext
from models.training.reading.prose import read_prose
from models.training.thu_ernie.training import PLAN as COMPOSING
from models.training.thu_ernie.wordings import Wordings

WORK = Path("var/reading")
N_CORRECTED = 40  # texts whose sentences are corrected


def main() -> None:
    """Read the arguments and train."""
    parser = describe_command("the reader", WORK, DEFAULT)
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--start", type=Path, help="weights of a reader to begin with, without the phase of masked spans"
    )
    parser.add_argument("--measure", action="store_true", help="only measure what is in --out")
    add_until(parser)
    arguments, say = read_command(parser)
    plan, work = plans.DEFAULT, arguments.work
    if arguments.start is not None:
        plan = replace(plan, pretext_steps=0, steps=plan.steps - plan.pretext_steps)
    if arguments.measure:
        measure(arguments.out, sum(seconds_by_phase(work).values()), say)
        return
    tokens, pack = WordPieces(find().tokenizer()), Pack.load(arguments.pack)
    maker = PassageMaker(pack, Wordings.of(pack).train, COMPOSING.mixture, "train")
    pretext = Pretext(read_prose(work / "prose"), tokens, plan.length)
    examples = Examples(maker, plan.mixture, tokens, plan.length, plan.question_room)
    net = ReadingNet(plan.dropout)
    if arguments.start is not None:
        net.load(parse_tensors(arguments.start.read_bytes(), arguments.start))
    net.to(resolve_device(arguments.device))
    progress = Progress(work, plans.fingerprint(plan, arguments.pack))
    Learning(plan, net, pretext, examples, tokens.padding, say).run(progress, arguments.until)
    if arguments.until is None or arguments.until >= plan.steps:
        finish(plan, net, arguments.out, sum(seconds_by_phase(work).values()), say)


def finish(plan: Plan, net: ReadingNet, out: Path, seconds: float, say: Say) -> None:
    """Fit the confidence, and write and measure the checkpoint."""
    settings = Settings(plan.length, plan.question_room, plan.overlap, plan.longest)
    save(net.weights(), settings, NO_SCALE, out)
    hands = {hand: examine(load(out), texts) for hand, texts in exam_texts("choose").items()}
    scale = calibrate(hands)
    say(f"choosing: {by_kind([outcome for part in hands.values() for outcome in part], scale)}")
    save(net.weights(), settings, scale, out)
    measure(out, seconds, say)


def measure(out: Path, seconds: float, say: Say) -> None:
    """Measure a checkpoint on the texts of the test, and write its card."""
    reader, parts = load(out), exam_texts("test")
    scale = reader.confidence
    exam = {name: examine(reader, part) for name, part in parts.items()}
    exam["all"] = [outcome for part in exam.values() for outcome in part]
    figures = {name: by_kind(part, scale) for name, part in exam.items()}
    texts = random.Random(plans.DEFAULT.seed).sample(
        [text for part in parts.values() for text in part], N_CORRECTED
    )
    corrections = measure_corrections(lambda text: examine(reader, [text]), texts, scale)
    write_card(out, figures, corrections, scale, seconds)
    say(f"wrote {out}: {figures['all']}")


if __name__ == "__main__":
    main()
