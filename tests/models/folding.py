"""Folds many edits of every memory of every system, as a process of its own: `python -m tests.models.folding FILE`.

The file holds the materials of the edits; it is written if it is not there. The checksums are printed as JSON.
"""

import importlib
import json
import pickle
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from models.backpack.memory import SENSES
from models.blocks import Block
from models.documents.memory import DOCUMENTS
from models.graph.base import Base
from models.graph.memory import GRAPH, TripleChange
from models.graph.statement import Statement
from models.memory import AnswerChange, FieldsChange, Material, Memory
from models.nkb.memory import BANK
from models.relational.memory import PROGRAM
from models.systems import SYSTEMS
from models.thu_ernie.entities.facts import GraphFacts
from models.thu_ernie.entities.memory import ENTITIES, EntityMemory

N_EDITS = 150
N_NUMBERS = 5  # memories are folded from the first edits, at this many places
ANSWERS = ("Lima", "Cusco", "Paris", "Lyon", "Tokyo", "Kyoto", "Berlin", "Oslo")
RULE = 'forbid(E) <= hidden.relation(E,"relation{}")'


def load_memories() -> dict[str, Memory]:
    """Load every system as a service does."""
    torch.set_num_threads(1)
    memories: dict[str, Memory] = {}
    for loader in SYSTEMS.values():
        module, name = loader.split(":")
        bundle = getattr(importlib.import_module(module), name)(torch.device("cpu"), torch.float32)
        memories |= {memory.name: memory for memory in bundle.memories}
    return memories


def build(memory: Any) -> list[Material]:
    """Build N_EDITS edits of one memory, some with each method that it has."""
    changes = list(CHANGES[memory.name](memory))[:N_EDITS]
    methods = memory.options.methods() or (None,)
    materials: list[Material] = []
    for number, method in enumerate(methods):
        options = memory.options() if method is None else memory.options(method=method)
        results = memory.build(changes[number :: len(methods)], options)
        materials += [result for result in results if isinstance(result, Material)]
    assert len(materials) >= 0.9 * N_EDITS, f"{memory.name} refuses edits"
    return [
        replace(material, block=replace(material.block, order=order))
        for order, material in enumerate(materials, 1)
    ]


def change_answers(memory: Memory) -> Iterator[AnswerChange | FieldsChange]:
    for number in range(N_EDITS):
        answer = ANSWERS[number % len(ANSWERS)]
        yield AnswerChange(f"a{number}", f"What is the capital of region {number}?", answer)


def change_senses(memory: Memory) -> Iterator[AnswerChange | FieldsChange]:
    """Change answers and, every third time, the senses of a word: each way of it."""
    for number, change in enumerate(change_answers(memory)):
        word = f" {ANSWERS[number % len(ANSWERS)]}"
        ways = (
            {"action": "project", "away": " Rome", "towards": " London"},
            {"action": "overwrite", "towards": " London"},
            {"action": "factor", "factor": 0.5},
        )
        fields = {"word": word, "first_piece": True, **ways[number // 3 % len(ways)]}
        yield _of(memory, number, "sense", fields) if number % 3 == 0 else change


def change_triples(memory: Memory) -> Iterator[TripleChange]:
    for number in range(N_EDITS):
        yield TripleChange(f"a{number}", {f"n:{number % 40}": (Statement("capital", ANSWERS[number % 8]),)})


def change_facts(memory: EntityMemory) -> Iterator[FieldsChange]:
    """Change facts of entities of the pack, up to three of one entity."""
    facts, rng = GraphFacts.of(Base.of()), random.Random(1)
    entities, number = sorted(facts.by_entity), 0
    rng.shuffle(entities)
    for entity in entities:
        relations = [name for name in facts.by_entity[entity] if len(facts.by_relation.get(name, ())) > 20]
        for relation in relations[: 1 + len(entity) % 3]:
            fact = {"relation": relation, "object": rng.choice(facts.by_relation[relation])}
            yield _of(memory, number, "rows", {"entity": entity, "fact": fact})
            number += 1


def change_rules(memory: Memory) -> Iterator[FieldsChange]:
    for number in range(N_EDITS):
        yield _of(memory, number, "rule", {"rule": RULE.format(number)})


def change_documents(memory: Memory) -> Iterator[FieldsChange]:
    for number in range(N_EDITS):
        yield _of(memory, number, "document", {"id": f"d{number}", "text": f"Region {number} has towns."})


def _of(memory: Any, number: int, kind: Any, fields: dict[str, Any]) -> FieldsChange:
    return FieldsChange(f"a{number}", kind, memory.fields[kind].model_validate(fields))


CHANGES: dict[str, Any] = {
    BANK: change_answers,
    GRAPH: change_triples,
    PROGRAM: change_rules,
    SENSES: change_senses,
    DOCUMENTS: change_documents,
    ENTITIES: change_facts,
}


def pack(materials: Sequence[Material]) -> list[tuple[Any, ...]]:
    """Return materials as the ledger keeps them."""
    return [
        (material.edit, material.method, material.notes, block.key, block.order, block.encoded, block.digest)
        for material in materials
        for block in [material.block]
    ]


def unpack(rows: Sequence[tuple[Any, ...]]) -> list[Material]:
    return [
        Material(edit, method, Block.decode(data, key=key, order=order, digest=digest), notes)
        for edit, method, notes, key, order, data, digest in rows
    ]


def main(path: Path) -> None:
    memories = load_memories()
    if not path.exists():
        path.write_bytes(pickle.dumps({name: pack(build(memory)) for name, memory in memories.items()}))
    checksums = {}
    for name, rows in pickle.loads(path.read_bytes()).items():
        materials = unpack(rows)
        for number in range(1, N_NUMBERS + 1):
            image = memories[name].fold(materials[: len(materials) * number // N_NUMBERS])
            checksums[f"{name} {len(image.blocks)}"] = image.checksum
    print(json.dumps(checksums))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
