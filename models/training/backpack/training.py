"""The training of the Backpack: its texts and tokenizer, its steps, its scales and its exam."""

from pathlib import Path

import torch

from models.backpack.checkpoint import TOKENIZER, save_backpack
from models.backpack.memory import SENSES, SensesMemory
from models.backpack.reader import FILES, Reader
from models.backpack.scales import write_scales
from models.backpack.speller import Speller
from models.backpack.system import BackpackSystem
from models.kit.checkpoint import write_sums
from models.packs.pack import Pack
from models.training.backpack.exam import draw_cases, draw_groups, fit_scales
from models.training.backpack.learning import Learning, build_net, count_parameters
from models.training.backpack.texts import Texts, learn_tokenizer
from models.training.kit.card import fill_card
from models.training.kit.exam import examine, measure_edits
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import read_plan
from models.training.kit.run import Run

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)
TOKENIZER_EPOCHS = 2  # epochs whose documents the tokenizer is learned from


def train(run: Run) -> bool:
    """Train, fit the scales, and write the checkpoint, its weights in half precision."""
    plan = run.plan
    with DataFiles(run.pack) as files:
        texts = Texts(Pack.load(run.pack), plan.texts, plan.seed)
    documents = (document for epoch in range(TOKENIZER_EPOCHS) for document in texts.documents(epoch))
    speller, net = Speller.of(learn_tokenizer(documents, plan.vocab)), build_net(plan)
    learning = Learning(plan, net, texts, speller, run.say)
    run.say(f"{count_parameters(net):,} parameters, {learning.per_epoch} steps an epoch")
    if not run.take(learning, files.fingerprint(plan.to_json())):
        return False
    run.say("fitting the scales")
    scales = fit_scales(plan, net, speller, texts)
    run.out.mkdir(parents=True, exist_ok=True)
    save_backpack(run.out, net, torch.float16)
    speller.tokenizer.save(str(run.out / TOKENIZER))
    write_scales(run.out, scales)
    write_sums(run.out, FILES)
    return True


def measure(run: Run) -> None:
    """Measure the checkpoint, and write its card beside it."""
    plan, reader = run.plan, Reader.load(run.out)
    texts = Texts(Pack.load(run.pack), plan.texts, plan.seed)
    system, memory = BackpackSystem(reader), SensesMemory(reader)
    views = {SENSES: memory.view(memory.base)}
    figures = examine(system, draw_groups(texts, plan.n_questions), views, run.say)
    cases = draw_cases(texts, plan.n_edits, plan.seed)
    for name, alone in (("single", True), ("sequential", False)):
        figures[name] = measure_edits(system, memory, cases, views, alone=alone)
        run.say(f"{name}: {figures[name]}")
    parameters = count_parameters(reader.model)
    fill_card(run.out, FOLDER / "card.md", figures, minutes=run.minutes, parameters=parameters)
