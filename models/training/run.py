"""The phases in order: prepare, base, subjects, bank, confidence, measure, write.

Each resumes or takes little time.
"""

import json
import random
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import T5ForConditionalGeneration

from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.nkb import checkpoint, reader
from models.nkb.backbone import build
from models.nkb.bank import bank_of, mount
from models.nkb.decode import Decoder
from models.nkb.gated import find_pushes
from models.nkb.reader import Subjects
from models.nkb.system import load
from models.packs.pack import Pack
from models.scope.probe_index import ProbeIndex
from models.scope.readings import Readings
from models.training import base, edits, inject, subjects
from models.training.calibrate import fit
from models.training.card import Report, StageOutcomes, write_card
from models.training.edits import EditFigures
from models.training.kit.command import Say
from models.training.kit.fingerprint import DataFiles
from models.training.kit.progress import FinishedPhase, Progress, seconds_by_phase
from models.training.material import Material, prepare
from models.training.measure import Examiner, served_weights, taught_subjects
from models.training.measure import subjects as read_subjects
from models.training.packs.names import read_names
from models.training.plan import Plan, fingerprint
from models.training.questions import write_questions
from models.training.states import BATCH, digest, load_or_encode
from models.training.subject_net import SubjectNet

METHOD = {"gated": "gated slots", "surgery": "value surgery"}  # names in the card


def train_all(plan: Plan, folder: Path, work: Path, out: Path, say: Say) -> None:
    """Train on the pack in `folder` and write the checkpoint with its card.

    The result is the same for the same plan, pack and processor.
    """
    start_s = time.monotonic()
    earlier = seconds_by_phase(work)
    with DataFiles(folder) as files:
        pack = Pack.load(folder)
        say(f"pack {pack.name} {pack.version}")
        material = prepare(plan, pack, work, say)
    progress = Progress(work, fingerprint(plan, files, material.tokenizer))
    t5 = _base(plan, material, progress, say)
    net = _subjects(plan, material, work, say)
    centres = taught_subjects(net, material.corpus, material.rows_by_subject())
    known_subjects = read_subjects(net, centres)
    before = examine(t5, material, known_subjects, say, "no bank")
    torch.manual_seed(plan.seed)  # the same random state, whether the subjects were learned or loaded
    mount(t5, plan.bank)
    empty = examine(t5, material, known_subjects, say, "empty bank")
    reference = _inject(plan, material, t5, say)
    after = examine(t5, material, known_subjects, say, "bank after injection")
    confidence = _confidence(plan, material, after, say)
    pushes = find_pushes(Decoder(t5).head_weight, reference)
    _write(out, t5, material, net, confidence, reader.pack_reference(pushes, centres))
    figures = _edits(plan, material, out, say)
    seconds = sum(earlier.values()) + time.monotonic() - start_s
    report = Report(plan, pack, material, before, empty, after, confidence, figures, seconds)
    write_card(out, report)
    say(f"wrote {out}")


def _base(plan: Plan, material: Material, progress: Progress, say: Say) -> T5ForConditionalGeneration:
    torch.manual_seed(plan.seed)
    model = base.Seq2Seq(build(plan.backbone.t5()))
    rows_by_name = {
        "trained": material.one_each("trained", material.split.base[::12], 1),
        "tuning": material.one_each("tuning", material.split.base[::12], 2),
    }

    def check() -> str:
        return " ".join(
            f"{name} {100 * base.exact(model, material.corpus, rows):.1f}"
            for name, rows in rows_by_name.items()
        )

    by_item = [material.seen_in_training(item) for item in material.split.base]
    base.train(model, material.corpus, by_item, plan.base, progress, say, check)
    return model.t5.eval().requires_grad_(False)


def _subjects(plan: Plan, material: Material, work: Path, say: Say) -> SubjectNet:
    """Train the net of subjects, or load it; its texts are encoded in a separate folder."""
    items = [material.items[item] for item in material.split.base]
    recipe = plan.subjects
    questions = write_questions(material.relations, items, read_names("train"), recipe.phrasings, plan.seed)
    folder = work / "subjects"
    folder.mkdir(exist_ok=True)
    texts = [question.text for question in questions]
    finished = FinishedPhase(
        folder / reader.SUBJECTS, digest([*map(str, (recipe.epochs, recipe.lr, plan.seed)), *texts])
    )
    weights = finished.load()
    if weights is None:
        states = load_or_encode(folder, texts, MiniLM(), say)
        net = subjects.train(subjects.gather(questions), states, recipe.epochs, recipe.lr, plan.seed, say)
        finished.save(net.state_dict())
        return net
    return SubjectNet.from_weights(weights)


def examine(
    t5: T5ForConditionalGeneration, material: Material, known_subjects: Subjects, say: Say, stage: str
) -> StageOutcomes:
    """Ask one trained, one tuning and one held phrasing of every fact, and all questions about strangers."""
    say(f"asking everything: {stage}")
    examiner = Examiner(t5, material.tokenizer, material.corpus, known_subjects)
    base, injected_items = material.split.base, material.split.injected_items
    return StageOutcomes(
        base_trained=examiner.ask(material.one_each("trained", base, 3)),
        base_tuning=examiner.ask(material.one_each("tuning", base, 3)),
        base_held=examiner.ask(material.one_each("held", base, 3)),
        injected_trained=examiner.ask(material.one_each("trained", injected_items, 3)),
        injected_tuning=examiner.ask(material.one_each("tuning", injected_items, 3)),
        injected_held=examiner.ask(material.one_each("held", injected_items, 3)),
        strangers_tune=examiner.ask(material.rows["stranger-tune"][-1]),
        strangers_test=examiner.ask(material.rows["stranger-test"][-1]),
    )


def _inject(plan: Plan, material: Material, t5: T5ForConditionalGeneration, say: Say) -> torch.Tensor:
    """Train the mounted bank, and return the states for which gated values are solved."""
    rows_by_item = {item: material.seen_in_training(item) for item in range(len(material.items))}
    new = inject.positions(
        t5, material.corpus, [row for item in material.split.injected_items for row in rows_by_item[item]]
    )
    old = inject.positions(
        t5, material.corpus, inject.sample(rows_by_item, material.split.replayed_items, 3, plan.seed)
    )
    say(f"bank: {len(new)} positions to learn, {len(old)} to keep")
    bank = bank_of(t5, plan.bank.layers[-1])
    assert bank is not None
    inject.train(bank, Decoder(t5).head, new, old, plan.injection, say)
    return old.s[torch.randperm(len(old))[: plan.reference_states]].clone()


def _confidence(plan: Plan, material: Material, after: StageOutcomes, say: Say) -> Confidence:
    """Fit the confidence on the writers and strangers for choices; the card measures on others."""
    familiar, strangers = after.tuning(), [o.grade for o in after.strangers_tune]
    confidence = fit(familiar, strangers, plan.wrong)
    say(f"confidence: {confidence}")
    return confidence


def _edits(plan: Plan, material: Material, out: Path, say: Say) -> dict[str, EditFigures]:
    """Measure edits of injected facts, whose questions the gates were not trained on, by each method."""
    say("editing")
    bundle = load(torch.device("cpu"), torch.float32, out)
    (memory,) = bundle.memories
    items = random.Random(plan.seed).sample(material.split.injected_items, max(n for _, n in plan.edits))
    return {
        f"{METHOD[method]}, {n} edits": edits.measure(
            bundle.system, memory, material.items, items[:n], method, plan.seed
        )
        for method, n in plan.edits
    }


def _write(
    out: Path,
    t5: T5ForConditionalGeneration,
    material: Material,
    net: SubjectNet,
    confidence: Confidence,
    reference: dict[str, torch.Tensor],
) -> None:
    checkpoint.write(t5, out)
    (out / "generation_config.json").unlink(missing_ok=True)
    material.tokenizer.save(str(out / reader.TOKENIZER))
    save_file({k: v.detach().contiguous() for k, v in served_weights(net).items()}, out / reader.SUBJECTS)
    save_file({name: tensor.contiguous() for name, tensor in reference.items()}, out / reader.REFERENCE)
    (out / reader.CONFIDENCE).write_text(json.dumps(confidence.to_json(), indent=1) + "\n")
    reader.record(out)
    questions = [item.relation.question(item.subject.label) for item in material.items]
    trained = reader.Reader.load(out)
    batches = (questions[start : start + BATCH] for start in range(0, len(questions), BATCH))
    readings = Readings.concatenate([trained.read(batch).readings for batch in batches])
    ProbeIndex.build(trained.digest, questions, readings).save(out)
