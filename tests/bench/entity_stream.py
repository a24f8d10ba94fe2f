"""The cost of THU-ERNIE's entity stream: answers a second against the same encoder without it."""

from collections.abc import Iterator
from dataclasses import replace

from models.graph.memory import GRAPH, graph_memory
from models.memory import Views
from models.thu_ernie.answering.checkpoint import load
from models.thu_ernie.answering.network import ErnieAnswers
from models.thu_ernie.answering.reader import Model
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.linking.memory import LINKS, LinksView
from models.thu_ernie.system import ThuErnieSystem, entity_memory
from tests.bench.questions import questions_and_subjects
from tests.bench.sentence_tree import link
from tests.bench.table import Row
from tests.bench.timing import measure_interleaved

BATCHES, ROUNDS = (32, 1), 15


def rows() -> Iterator[Row]:
    model, graph = load(), graph_memory()
    entities = entity_memory(model)
    view = graph.view(graph.base)
    views: Views = {GRAPH: view, ENTITIES: entities.view(entities.base), LINKS: LinksView()}
    asks = [link(view, question, subject) for question, subject in questions_and_subjects(max(BATCHES))]
    sides = {"fused": ThuErnieSystem(model), "plain": ThuErnieSystem(without_entities(model))}
    for size in BATCHES:
        seconds = measure_interleaved(
            {
                name: lambda side=system, size=size: side.answer(asks[:size], [views] * size)
                for name, system in sides.items()
            },
            ROUNDS,
        )
        yield Row(
            f"THU-ERNIE, answers a second against its encoder without the entity stream, batch of {size}",
            seconds["plain"] / seconds["fused"],
            ">= 0.7",
            f"{size / seconds['fused']:.0f} against {size / seconds['plain']:.0f} a second",
        )


def without_entities(model: Model) -> Model:
    """Return the model whose layers are all plain, with the same weights in the token stream."""
    config = model.network.config
    network = ErnieAnswers(replace(config, kinds=("sim",) * len(config.kinds)))
    expected = network.state_dict()
    network.load_state_dict(
        {name: value for name, value in model.network.state_dict().items() if name in expected}
    )
    return replace(model, network=network.to(model.device).eval().requires_grad_(False))
