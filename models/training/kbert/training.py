"""The training of kbert: its inputs, its steps, its scales and its exam."""

from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.encoder.minilm import WIDTH, MiniLM
from models.encoder.weights import find
from models.graph.memory import GRAPH, GraphMemory
from models.kbert.checkpoint import load, save
from models.kbert.query import Relevance
from models.kbert.system import KbertSystem
from models.kit.names import label_question
from models.kit.text import WordPieces
from models.reading.checkpoint import load as load_reader
from models.training.kbert.calibrate import calibrate
from models.training.kbert.exam import draw_cases, draw_groups
from models.training.kbert.examples import Examples
from models.training.kbert.learning import Learning, Net
from models.training.kbert.ranks import Ranks, deal_folds, load_or_learn_maps, mask_phrasings
from models.training.kbert.texts import Texts, World
from models.training.kit.card import fill_card
from models.training.kit.exam import examine, measure_edits
from models.training.kit.plan import read_plan
from models.training.kit.run import Run
from models.training.texts.relations import RelationText, sort_by_nearness

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)


def train(run: Run) -> bool:
    """Train, fit scales and thresholds, and write the checkpoint; the same for a plan, a pack and a processor."""
    plan, texts = run.plan, Texts.read(run.plan, run.pack)
    (world, bend, ranks), net = prepare(run, texts), Net(plan)
    examples, tokens = Examples(world, plan.mixture, plan.seed), WordPieces(find().tokenizer())
    learning = Learning(plan, net, examples, ranks, tokens, run.say)
    if not run.take(learning, texts.files.fingerprint(plan.to_json())):
        return False
    run.say("calibrating")
    save(calibrate(plan, texts, net, bend), run.out)
    return True


def measure(run: Run) -> None:
    """Measure the checkpoint, and write its card beside it."""
    plan, texts = run.plan, Texts.read(run.plan, run.pack)
    system = KbertSystem(load(run.out), load_reader())
    figures = examine(system, draw_groups(plan, texts), {}, run.say)
    graph = GraphMemory.of(run.pack)
    cases = draw_cases(plan, texts)
    figures["edits"] = measure_edits(system, graph, cases, {GRAPH: graph.view(graph.base)})
    run.say(f"edits: {figures['edits']}")
    split = texts.relations
    fill_card(
        run.out,
        FOLDER / "card.md",
        figures,
        minutes=run.minutes,
        practice=sum(relation.is_practice for relation in split.train.values()),
        held_out=", ".join(split.held_out),
        tune=", ".join(split.tune),
        n_held=len(texts.world.held_out),
    )


def prepare(run: Run, texts: Texts) -> tuple[World, Tensor, Ranks]:
    """Find near relations and learn the maps of the rank, or read those of an earlier run; return the final map too."""
    plan, relations = run.plan, texts.relations
    run.say(f"held out: {', '.join(relations.held_out)}; for tuning: {', '.join(relations.tune)}")
    relevance = Relevance(MiniLM(), torch.zeros(WIDTH, WIDTH))
    train = list(relations.train.values())
    folds = deal_folds(train, plan.bend.folds, plan.seed)
    mark = texts.files.fingerprint(plan.to_json())
    maps = load_or_learn_maps(relevance, train, folds, run, mark)
    world = replace(texts.world, near=find_near(relevance, train))
    return world, maps[0], Ranks(relevance, maps, folds)


@torch.no_grad()
def find_near(relevance: Relevance, relations: list[RelationText]) -> dict[str, list[str]]:
    """Sort the other relations of each relation by how near their labels are to its questions."""
    means = [relevance.plain(mask_phrasings(text)).mean(0) for text in relations]
    questions = torch.stack([F.normalize(mean, dim=0) for mean in means])
    labels = relevance.plain([label_question(text.labels[0]) for text in relations])
    return sort_by_nearness([text.id for text in relations], questions, labels)
