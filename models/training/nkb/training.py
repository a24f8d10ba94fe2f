"""The training of nkb: base, subjects, bank, scale, checkpoint and exam; each phase resumes or takes little time."""

import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from more_itertools import chunked
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.encoder.minilm import MiniLM
from models.kit.checkpoint import write_sums
from models.nkb import checkpoint, reader
from models.nkb.backbone import BackboneConfig, build
from models.nkb.bank import BankConfig, bank_of, mount
from models.nkb.decode import Decoder
from models.nkb.gated import find_pushes
from models.nkb.memory import BANK, BankMemory, BankOptions
from models.nkb.reader import ReadCache, Reader, Subjects
from models.nkb.system import NkbSystem
from models.scope.probe_index import ProbeIndex
from models.scope.readings import Readings, dequantize, quantize
from models.training.kit.card import fill_card, tabulate
from models.training.kit.exam import examine, measure_edits
from models.training.kit.plan import read_plan
from models.training.kit.run import Run
from models.training.nkb import subjects
from models.training.nkb.cases import draw_cases, draw_groups
from models.training.nkb.exam import Examiner, fit
from models.training.nkb.learning import REPLAYED_ROWS, Base, Corpus, Injection, read_positions
from models.training.nkb.states import BATCH, digest, load_or_encode
from models.training.nkb.texts import Texts
from models.training.packs.names import read_names
from models.training.texts import pieces

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)
# What the base depends on
BASE = ("seed", "vocab", "n_injected", "n_unreplayed", "wordings", "backbone", "base")
BEFORE = "before.json"  # in the folder of progress: figures of the model without a bank
TOGETHER = {"gated": 1000, "surgery": 1}  # edits of one call; surgery refuses single facts
Weights = dict[str, Tensor]


def train(run: Run) -> bool:
    """Train the backbone and the bank, and write the checkpoint; the same for a plan, a pack and a processor."""
    plan, texts = run.plan, Texts.read(run.plan, run.pack)
    tokenizer = pieces.train((item.answer for item in texts.items), plan.vocab)
    corpus = read_corpus(run, texts, tokenizer)
    torch.manual_seed(plan.seed)
    t5 = build(plan.backbone.make(BackboneConfig).t5())
    facts = [texts.seen_in_training(item) for item in texts.split.base]
    base = {name: number for name, number in plan.to_json().items() if name in BASE}
    mark = texts.files.fingerprint(base, tokenizer=hashlib.sha256(tokenizer.to_str().encode()).hexdigest())
    if not run.take(Base(plan, t5, corpus, facts, run.say), mark):
        return False
    weights = learn_subjects(run, texts)
    centres = read_centres(weights, corpus, texts)
    examiner = Examiner(t5, tokenizer, corpus, Subjects.from_weights(weights, dequantize(centres)))
    rows = texts.group_rows()
    run.say("asking without a bank")
    before = {
        name: examiner.share(rows[name]) for name in rows if "tuning" not in name and name != "strangers"
    }
    (run.work / BEFORE).write_text(json.dumps(before, indent=1) + "\n")
    torch.manual_seed(plan.seed)  # the same random state, whether the subjects were learned or loaded
    mount(t5, plan.bank.make(BankConfig))
    reference = learn_bank(run, texts, corpus, t5)
    run.say("fitting the confidence")
    familiar = examiner.ask(rows["base_tuning"]) + examiner.ask(rows["injected_tuning"])
    confidence = fit(familiar, examiner.ask(rows["strangers_tuning"]), plan.wrong)
    pushes = find_pushes(Decoder(t5).head_weight, reference)
    checkpoint.write(t5, run.out)
    (run.out / "generation_config.json").unlink(missing_ok=True)
    tokenizer.save(str(run.out / reader.TOKENIZER))
    tables = {  # directions are stored, and then used, in half precision
        "units": pushes.units.half(),
        "gaps": pushes.gaps,
        "enough": pushes.enough,
        "largest": torch.tensor(pushes.largest),
        "taught": centres,
    }
    for name, tensors in ((reader.SUBJECTS, weights), (reader.REFERENCE, tables)):
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, run.out / name)
    (run.out / reader.CONFIDENCE).write_text(json.dumps(confidence.to_json(), indent=1) + "\n")
    write_sums(run.out, reader.FILES)
    index_probes(run.out, texts)
    return True


def measure(run: Run) -> None:
    """Measure the checkpoint, and write its card beside it.

    The check of own questions is left out, for it has a separate exam (models/training/scope/own_question.py).
    """
    plan, texts = run.plan, Texts.read(run.plan, run.pack)
    trained = replace(Reader.load(run.out), own_questions=None)
    reads = ReadCache(trained)
    system, memory = NkbSystem(trained, reads), BankMemory(trained, reads)
    views = {BANK: memory.view(memory.base)}
    figures: dict[str, Any] = {**examine(system, draw_groups(texts), views, run.say, BATCH)}
    items = random.Random(plan.seed).sample(texts.split.injected_items, max(n for _, n in plan.edits))
    for method, n in plan.edits:
        options = BankOptions.model_validate({"method": method})
        cases = draw_cases(texts.items, items[:n], plan.seed)
        row = measure_edits(system, memory, cases, views, options, size=TOGETHER[method])
        figures[f"{n} {method} edits"] = row
        run.say(f"{n} {method} edits: {row}")
    path = run.work / BEFORE
    before = json.loads(path.read_text()) if path.exists() else {}
    figures |= {f"before: {name}": row for name, row in before.items()}
    fill_card(run.out, FOLDER / "card.md", figures, minutes=run.minutes, before=tabulate(before, "exact"))


def read_corpus(run: Run, texts: Texts, tokenizer: Tokenizer) -> Corpus:
    """Encode every text, or find it encoded in the folder of progress."""
    states = load_or_encode(run.work, [line.text for line in texts.lines], MiniLM(), run.say)
    answers = {a: [*tokenizer.encode(a).ids, reader.END] for a in {line.answer for line in texts.lines}}
    return Corpus(texts.lines, states, [answers[line.answer] for line in texts.lines])


def learn_subjects(run: Run, texts: Texts) -> Weights:
    """Learn how subjects are read, and return the tensors of subjects.safetensors."""
    plan, names = run.plan.subjects, read_names("train")
    items = [texts.items[item] for item in texts.split.base]
    questions = subjects.write_questions(texts.relations, items, names, plan.phrasings, run.plan.seed)
    wordings, folder = [question.text for question in questions], run.work / "subjects"
    states = load_or_encode(folder, wordings, MiniLM(), run.say)
    learning = subjects.Learning(plan, questions, states, run.plan.seed, run.say)
    mark = digest([json.dumps(plan.to_json()), str(run.plan.seed), *wordings])
    replace(run, work=folder, until=None).take(learning, mark)
    return dict(learning.net.state_dict())


@torch.no_grad()
def read_centres(weights: Weights, corpus: Corpus, texts: Texts) -> Tensor:
    """Compute the mean reading of each subject over its training texts, packed as in the checkpoint."""
    read = Subjects.from_weights(weights, weights["read"].T[:0]).key
    readings = [read(*corpus.states.batch(rows)).mean(0) for rows in texts.rows_by_subject()]
    return quantize(F.normalize(torch.stack(readings), dim=-1))


def learn_bank(run: Run, texts: Texts, corpus: Corpus, t5: T5ForConditionalGeneration) -> Tensor:
    """Train the mounted bank, and return the states for which gated values are solved."""
    plan, rng = run.plan, random.Random(run.plan.seed)
    rows = [row for item in texts.split.injected_items for row in texts.seen_in_training(item)]
    old_rows = [
        row
        for item_rows in map(texts.seen_in_training, texts.split.replayed_items)
        for row in rng.sample(item_rows, min(REPLAYED_ROWS, len(item_rows)))
    ]
    new, old = (read_positions(t5, corpus, part) for part in (rows, old_rows))
    run.say(f"bank: {len(new)} positions to learn, {len(old)} to keep")
    bank = bank_of(t5, plan.bank.layers[-1])
    assert bank is not None
    learning = Injection(plan, bank, Decoder(t5).head, new, old, run.say)
    mark = texts.files.fingerprint(plan.to_json())
    replace(run, work=run.work / "bank", until=None).take(learning, mark)
    return old.s[torch.randperm(len(old))[: plan.reference_states]].clone()


def index_probes(out: Path, texts: Texts) -> None:
    """Write the readings of all questions of the pack beside the checkpoint, which tell what an edit may reach."""
    trained = Reader.load(out)
    questions = [item.relation.question(item.subject.label) for item in texts.items]
    readings = Readings.concatenate([trained.read(part).readings for part in chunked(questions, BATCH)])
    ProbeIndex.build(trained.digest, questions, readings).save(out)
