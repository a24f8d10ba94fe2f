"""Plans that train in seconds on a part of the pack, and what they are trained on, each made once."""

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import torch
from tokenizers import Tokenizer

from models.backpack.speller import Speller
from models.encoder.weights import find
from models.ernie_doc.reader import Packing
from models.kit.text import WordPieces
from models.packs.pack import WORLD, Pack
from models.training.backpack import learning as backpack
from models.training.backpack.learning import build_net
from models.training.backpack.texts import Texts, learn_tokenizer
from models.training.backpack.training import PLAN as BACKPACK_PLAN
from models.training.ernie_doc import composed as documents
from models.training.ernie_doc import learning as ernie_doc
from models.training.ernie_doc.examples import Examples
from models.training.ernie_doc.training import PLAN as ERNIE_DOC_PLAN
from models.training.ernie_doc.training import make_packing
from models.training.kbert import texts as kbert
from models.training.kbert.training import PLAN as KBERT
from models.training.kit.plan import Plan
from models.training.reading import learning as reading
from models.training.reading.composed import PassageMaker
from models.training.reading.examples import Examples as ReadingExamples
from models.training.reading.net import ReadingNet
from models.training.reading.pretext import N_COMMON, Pretext
from models.training.reading.training import PLAN as READING_PLAN
from models.training.reading.written.texts import PASSAGES, read_texts
from models.training.texts.relations import Relations, split_relations
from models.training.thu_ernie import learning as thu_ernie
from models.training.thu_ernie.questions import QuestionMaker
from models.training.thu_ernie.training import PLAN as THU_ERNIE_PLAN
from models.training.thu_ernie.training import Setup
from models.training.thu_ernie.translation import Triples, train_rows
from models.training.thu_ernie.wordings import Wordings
from models.training.thu_ernie.world import World

VOCAB = 320
BACKPACK = BACKPACK_PLAN.change(
    model={
        "vocab": VOCAB,
        "words": VOCAB,
        "senses": 2,
        "width": 16,
        "layers": 1,
        "heads": 2,
        "positions": 128,
    },
    **{"vocab": VOCAB, "documents": 8, "sorted_steps": 2, "steps": 4, "keep_every": 2, "warmup": 1},
    **{"n_questions": 6, "n_choices": 6, "n_strangers": 6, "n_edits": 6},
)
ERNIE_DOC = ERNIE_DOC_PLAN.change(
    model={
        **{"width": 24, "layers": 2, "heads": 2, "inner": 32, "segment": 48, "memory": 16},
        "position_rows": 2 * 48 + 16,
    },
    **{"question_room": 12, "overlap": 4, "adaptation_steps": 0, "steps": 4, "keep_every": 2, "warmup": 1},
    **{"lr": 1e-2, "fresh_lr": 1e-2},
    frozen=("embeddings.word_emb.",),
    mixture={"n_composed": 1, "n_excerpts": 0, "n_passages": 0, "n_rows": 6},
)
SIZES = {"width": 48, "heads": 4, "inner": 96, "entity_size": 24, "init_std": 0.1}
THU_ERNIE = THU_ERNIE_PLAN.change(
    config={**SIZES, "kinds": ("sim", "mix", "norm")},
    translation={"epochs": 40, "batch": 64, "sharpness": 10.0, "norm": 5.0, "threshold": 5.0},
    mixture={"n_questions": 12, "slip": 0.0},
    frozen=("bert.embeddings.", "bert.pooler."),
    settings={"margin": 4.0},
    **{"row_scale": 0.2, "steps": 4, "keep_every": 2, "warmup": 1, "fresh_lr": 5e-3},
    **{"n_exam": 2, "n_edits": 3, "n_joint_edits": 40},
)
READING = READING_PLAN.change(rows=2, length=64, pretext_steps=1, steps=3, keep_every=1, warmup=1)
PARAGRAPH = (
    "The lighthouse of Corran was lit in 1871. Its first keeper, Anna Keller, lived there for thirty years. "
    "When Anna Keller left, the lighthouse of Corran went dark, and a ferry took the lamp to Dunmore."
)
COMMON = " ".join(f"w{number}" for number in range(N_COMMON)).replace("w1 ", "the of was in to and first ")


@cache
def pack() -> Pack:
    return Pack.load(WORLD)


@cache
def backpack_texts() -> Texts:
    return Texts(replace(pack(), facts=pack().facts[:40]), BACKPACK.texts, BACKPACK.seed)


@cache
def speller() -> Speller:
    return Speller.of(learn_tokenizer(backpack_texts().documents(0), VOCAB))


def begin_backpack(plan: Plan) -> backpack.Learning:
    return backpack.Learning(plan, build_net(plan), backpack_texts(), speller(), lambda line: None)


@cache
def tokenizer() -> Tokenizer:
    return find().tokenizer()


@cache
def documents_world() -> documents.World:
    return documents.build_world(pack(), "train")


def packing() -> Packing:
    return make_packing(ERNIE_DOC, tokenizer())


def begin_ernie_doc(plan: Plan) -> ernie_doc.Learning:
    examples = Examples(documents_world(), plan.mixture, tokenizer(), plan.question_room, plan.seed)
    return ernie_doc.Learning(plan, ernie_doc.build_model(plan), examples, packing(), lambda line: None)


@cache
def small_pack() -> Pack:
    facts = pack().facts[:300]
    relations = {fact.relation_id: pack().relations[fact.relation_id] for fact in facts}
    names = {name for fact in facts for name in (fact.subject_id, fact.object_id)}
    entities = {id: entity for id, entity in pack().entities.items() if id in names}
    return replace(pack(), facts=facts, relations=relations, entities=entities)


@cache
def setup() -> Setup:
    plan, triples = THU_ERNIE, Triples.of(small_pack())
    rows = train_rows(triples, plan.translation, plan.config.entity_size, plan.seed)
    world, wordings = World(small_pack(), triples, rows, plan.settings.margin), Wordings.of(small_pack())
    questions = QuestionMaker(world, wordings, plan.mixture)
    return Setup("same", world, wordings, questions, WordPieces(find().tokenizer()))


def begin_thu_ernie(plan: Plan) -> thu_ernie.Learning:
    return thu_ernie.Learning(plan, setup().questions, setup().vocabulary, lambda line: None)


@cache
def trained_thu_ernie() -> thu_ernie.Learning:
    learning = begin_thu_ernie(THU_ERNIE.change(steps=45, warmup=3))
    learning.run(None)
    return learning


@cache
def word_pieces() -> WordPieces:
    return WordPieces(find().tokenizer())


@cache
def reading_examples() -> ReadingExamples:
    maker = PassageMaker(pack(), Wordings.of(pack()).train, THU_ERNIE_PLAN.mixture, "train")
    texts = list(
        read_texts("train", PASSAGES, "d.jsonl")[:40]
    )  # the questions of all take the encoder a minute
    with patch("models.training.reading.examples.read_sources", lambda split: texts):
        return ReadingExamples(maker, READING, word_pieces())


def pretext() -> Pretext:
    return Pretext([PARAGRAPH, *[COMMON] * 3], word_pieces(), 256)


def begin_reading(plan: Plan) -> reading.Learning:
    torch.manual_seed(1)
    net, rows = ReadingNet(plan.dropout), reading_examples()
    return reading.Learning(plan, net, pretext(), rows, word_pieces().padding, lambda line: None)


@cache
def relations() -> Relations:
    return split_relations(pack(), KBERT.seed, KBERT.n_tuning)


@cache
def kbert_world() -> kbert.World:
    ids = list(relations().train)
    near = {id: [other for other in ids if other != id] for id in ids}
    return replace(kbert.build_world(pack(), relations(), KBERT.entities, KBERT.seed), near=near)
