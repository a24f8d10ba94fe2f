"""`python -m models.training.backpack`: train, calibrate, write the checkpoint and measure it.

With `--plain`, the plain transformer of the same size is trained and measured, and its figures join the card. The
steps resume where they stopped; the rest takes minutes.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import torch

from models.backpack.answering.confidence import write_scales
from models.backpack.answering.prompt import Speller, write_exchange
from models.backpack.answering.reader import DEFAULT as CHECKPOINT
from models.backpack.answering.reader import FILES, Reader
from models.backpack.checkpoint import TOKENIZER, save_backpack
from models.checkpoint import write_sums
from models.confidence import Confidence
from models.packs.pack import Pack
from models.training.backpack import plan as plans
from models.training.backpack.calibrate import (
    N_STRANGERS,
    fit_choice,
    fit_free,
    free_error,
    share_declined,
    share_wrong,
)
from models.training.backpack.card import add_figures
from models.training.backpack.edits import try_edits
from models.training.backpack.learning import Batches, Learning
from models.training.backpack.measure import (
    Outcome,
    agreement,
    find_words,
    flatten,
    perplexity,
    put,
    sense_agreement,
)
from models.training.backpack.net import BackpackNet, PlainNet, build_net, count_parameters
from models.training.backpack.plan import Plan
from models.training.backpack.texts import SPLITS, Split, Texts, learn_tokenizer
from models.training.kit.card import percent
from models.training.kit.command import Say, add_until, describe_command, read_command
from models.training.kit.fingerprint import DataFiles
from models.training.kit.progress import Progress, seconds_by_phase

WORK = Path("var/backpack/train")
N_QUESTIONS, N_CHOICES, N_DOCUMENTS, N_EDITS = 1_000, 400, 2_000, 200
TOKENIZER_EPOCHS = 2  # epochs whose documents the tokenizer is learned from


class Setup(NamedTuple):
    """The inputs with which both networks are trained."""

    plan: Plan
    pack: Pack
    texts: Texts
    speller: Speller
    batches: Batches
    files: DataFiles


def main() -> None:
    """Read the arguments and train."""
    parser = describe_command("backpack", WORK, CHECKPOINT)
    parser.add_argument("--plain", action="store_true", help="train the plain transformer of the same size")
    add_until(parser)
    arguments, say = read_command(parser)
    work = arguments.work / ("plain" if arguments.plain else "backpack")
    train(plans.DEFAULT, arguments.pack, work, arguments.out, arguments.plain, arguments.until, say)


def train(
    plan: Plan, pack_folder: Path, work: Path, out: Path, is_plain: bool, until: int | None, say: Say
) -> None:
    """Train one network on a pack, and write its checkpoint and its figures."""
    work.mkdir(parents=True, exist_ok=True)
    setup = prepare(plan, pack_folder)
    net = build_net(plan, is_plain)
    say(f"{count_parameters(net):,} parameters, {setup.batches.per_epoch} steps an epoch")
    progress = Progress(work, setup.files.fingerprint(asdict(plan), plain=is_plain))
    Learning(plan, net, setup.batches, say).run(progress, until)
    if until is not None and until < plan.steps:
        return
    out.mkdir(parents=True, exist_ok=True)
    say("measuring")
    outcomes = {split: put(net, setup.speller, setup.texts.questions(split, N_QUESTIONS)) for split in SPLITS}
    figures = measure(setup, net, outcomes)
    if isinstance(net, BackpackNet):
        figures |= write_checkpoint(setup, net, outcomes, out)
    figures["minutes"] = round(sum(seconds_by_phase(work).values()) / 60, 1)
    add_figures(out, "plain" if is_plain else "backpack", figures)
    say(f"wrote {out}")


def prepare(plan: Plan, pack_folder: Path) -> Setup:
    """Read the pack and learn the tokenizer."""
    with DataFiles(pack_folder) as files:
        pack = Pack.load(pack_folder)
        texts = Texts(pack, plan.texts, plan.seed)
    documents = (document for epoch in range(TOKENIZER_EPOCHS) for document in texts.documents(epoch))
    speller = Speller.of(learn_tokenizer(documents, plan.vocab))
    return Setup(plan, pack, texts, speller, Batches(plan, texts, speller), files)


def measure(
    setup: Setup, net: BackpackNet | PlainNet, outcomes: Mapping[Split, list[Outcome]]
) -> dict[str, float]:
    """Return the figures that both networks have."""
    questions = setup.texts.questions("test", N_DOCUMENTS)
    documents = [write_exchange(question.text, question.answer) for question in questions]
    every, answers = perplexity(net, setup.batches, documents)
    words = find_words(setup.pack, setup.speller)
    tokens, kinds = flatten(words)
    figures = {
        "parameters": float(count_parameters(net)),
        "perplexity": round(every, 2),
        "answer_perplexity": round(answers, 2),
        "kinds": round(agreement(net.embedding.detach()[tokens], kinds), 3),
    }
    if isinstance(net, BackpackNet):
        senses = sense_agreement(net, words)
        figures |= {"best_sense": round(max(senses), 3), "mean_sense": round(sum(senses) / len(senses), 3)}
    return figures | {
        split: percent(outcome.is_right for outcome in part) for split, part in outcomes.items()
    }


def write_checkpoint(
    setup: Setup, net: BackpackNet, outcomes: Mapping[Split, list[Outcome]], out: Path
) -> dict[str, float]:
    """Fit the scales, write the checkpoint, and return the figures of its scales and edits."""
    plan, texts, speller = setup.plan, setup.texts, setup.speller
    strangers = put(net, speller, texts.strangers("test", N_QUESTIONS))
    free = fit_free(outcomes["choosing"], put(net, speller, texts.strangers("tune", N_STRANGERS)))
    choice = fit_choice(net, speller, texts.questions("choosing", N_CHOICES), plan.seed)
    write_files(out, net, speller, {"free": free, "choice": choice})
    return try_edits(Reader.load(out), texts.corrections(N_EDITS)) | {
        "calibration_error": round(free_error(free, outcomes["test"]), 1),
        "wrong": round(share_wrong(free, outcomes["test"]), 1),
        "declined": round(share_declined(free, outcomes["test"]), 1),
        "declined_strangers": round(share_declined(free, strangers), 1),
    }


def write_files(out: Path, net: BackpackNet, speller: Speller, scales: Mapping[str, Confidence]) -> None:
    """Write the files of a checkpoint, the weights in half precision."""
    save_backpack(out, net, torch.float16)
    speller.tokenizer.save(str(out / TOKENIZER))
    write_scales(out, scales)
    write_sums(out, FILES)


if __name__ == "__main__":
    main()
