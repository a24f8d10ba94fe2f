"""The cost of K-BERT's parts in one process: the facts, and the visible matrix."""

from collections.abc import Iterator
from dataclasses import replace

from models.graph.knowledge import Mention
from models.graph.memory import GRAPH, graph_memory
from models.graph.view import GraphView
from models.kbert.answer import Answerer, finish
from models.kbert.checkpoint import load
from models.kbert.row import Batch, collate
from models.kbert.system import KbertSystem
from models.memory import Views
from models.system import Ask
from tests.bench.questions import questions_and_subjects
from tests.bench.table import Row
from tests.bench.timing import measure_cost, measure_interleaved

BATCH, ROUNDS, PAIRS = 32, 15, 100


def rows() -> Iterator[Row]:
    system, graph = KbertSystem(load()), graph_memory()
    view = graph.view(graph.base)
    views: list[Views] = [{GRAPH: view}] * BATCH
    asks = [link(view, question, subject) for question, subject in questions_and_subjects(BATCH)]
    seconds = measure_interleaved(
        {
            "with": lambda: system.answer(asks, views),
            "without": lambda: system.answer([replace(ask, mentions=()) for ask in asks], views),
        },
        ROUNDS,
    )
    detail = f"{1e3 * seconds['with']:.0f} ms against {1e3 * seconds['without']:.0f} ms, batch of {BATCH}"
    yield Row(
        "in process, K-BERT with facts against without", seconds["without"] / seconds["with"], "", detail
    )
    yield _visible_matrix(system, asks)


def link(view: GraphView, question: str, subject: str) -> Ask:
    label = view.base.statements[subject][0].object
    start, entity = question.index(label), view.entity(subject)
    assert entity is not None
    return Ask(question, mentions=(Mention(start, start + len(label), (entity,)),))


def _visible_matrix(system: KbertSystem, asks: list[Ask]) -> Row:
    """Measure the encoder on the same rows with the visible matrix, and with full attention."""
    model = system.model
    readings = finish(Answerer(model).read(asks))
    rows = [reading.row.row for reading in readings if reading.row is not None]

    def read(with_matrix: bool) -> Batch:
        batch = collate(rows, model.tokens.padding, device=model.device)
        batch = batch if with_matrix else batch.without_visible_matrix()
        model.encoder.read(batch)
        return batch

    percent = measure_cost({"with": lambda: read(True), "without": lambda: read(False)}, PAIRS)
    return Row(
        "cost of the visible matrix, batch of 32",
        percent,
        "",
        f"per cent of the encoder's time, median of {PAIRS} pairs",
    )
