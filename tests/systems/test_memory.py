"""Every memory keeps the contract: rows from the base alone, and an undo that leaves no trace, to the bit."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.backpack.editing.sense import SenseChange
from models.backpack.memory import SENSES
from models.blocks import Block, Image, block_key
from models.documents.fields import DocumentFields
from models.documents.memory import DOCUMENTS
from models.graph.memory import GRAPH
from models.memory import AnswerChange, EditRefused, FieldsChange, Grows, Material, Memory, TakesFields
from models.nkb.hub import load as load_hub
from models.nkb.memory import BANK
from models.relational.memory import PROGRAM, RuleFields
from models.system import Bundle, Reply
from models.thu_ernie.entities.memory import ENTITIES, RowsFields
from tests.hypotheses import examples
from tests.models.nkb.small_t5 import write_small_t5
from tests.systems.records import answer, load
from tests.witness.history import HISTORIES, RULES

HUB = f"{BANK}/small"
SYSTEMS = {
    BANK: "nkb",
    GRAPH: "kbert",
    PROGRAM: "relational",
    SENSES: "backpack",
    DOCUMENTS: "ernie-doc",
    ENTITIES: "thu-ernie",
}
REFUSED: dict[str, dict[str, Any]] = {
    BANK: {
        "unspeakable": AnswerChange("x", "Who?", "  padded"),
        "answer_too_long": AnswerChange("x", "Who?", "word " * 200),
    },
    SENSES: {
        "unspeakable": AnswerChange("x", "Who?", "Li\nma"),
        "answer_too_long": AnswerChange("x", "Who?", "Lima, " * 99 + "Lima"),
        "bad_factor": FieldsChange("x", "sense", SenseChange(word=" the", action="factor", factor=-1.0)),
    },
    GRAPH: {},
    PROGRAM: {"no_label": FieldsChange("x", "rule", RuleFields(rule=RULES[0], label="wife"))},
    DOCUMENTS: {
        "empty": FieldsChange("x", "document", DocumentFields(id="mill", text=" \n")),
        "binary": FieldsChange("x", "document", DocumentFields(id="mill", text="PK\x03\x04\x00")),
    },
    ENTITIES: {
        "invalid_vector": FieldsChange("x", "rows", RowsFields(entity="Q1000", vector=(1.0, 2.0))),
        "unknown_entity": FieldsChange("x", "rows", RowsFields(entity="Q1000", copy_of="x:nobody")),
    },
}


@dataclass
class Sample:
    """A memory of a system, and edits of it."""

    name: str
    bundle: Bundle

    def __post_init__(self) -> None:
        self.history = HISTORIES[BANK if self.name == HUB else self.name]
        self.memory: Memory = next(memory for memory in self.bundle.memories if memory.name == self.name)
        self.other_views = {m.name: m.view(m.base) for m in self.bundle.memories if m.name != self.name}
        self.states: dict[frozenset[int], tuple[str, list[Reply]]] = {}

    @cached_property
    def materials(self) -> list[Material]:
        results = [self.build(change, **options)[0] for change, options in self.history.edits]
        return [in_place(material, order) for order, material in enumerate(results, 1)]

    def build(self, *changes: Any, **options: Any) -> list[Any]:
        return self.memory.build(changes, self.memory.options(**options))

    def say(self, image: Image) -> list[Reply]:
        views = {**self.other_views, self.name: self.memory.view(image)}
        return answer(self.bundle, self.history.asks[: 1 if self.name == HUB else 2], views)


def in_place(material: Material, order: int) -> Material:
    """Give a material its place in the ledger, as a writer does."""
    return replace(material, block=replace(material.block, order=order))


@cache
def sample_of(name: str, folder: Path) -> Sample:
    if name == HUB:
        return Sample(
            HUB, load_hub(torch.device("cpu"), torch.float32, str(write_small_t5(folder / "small")))
        )
    return Sample(name, load(SYSTEMS[name]))


@pytest.fixture(scope="module", params=[*HISTORIES, HUB])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample_of(request.param, tmp_path_factory.getbasetemp())


def test_it_keeps_the_contract_of_a_memory(sample: Sample) -> None:
    memory = sample.memory
    assert isinstance(memory, Memory)
    fields = memory.fields if isinstance(memory, TakesFields) else {}
    assert memory.accepts == {*fields} | (memory.accepts & {"answer", "triple"})
    assert {change.kind for change, _ in sample.history.edits} == memory.accepts
    assert memory.options() == memory.options()
    assert memory.fold([]).checksum == memory.base.checksum
    assert memory.build([], memory.options()) == []


def test_a_change_has_the_same_rows_alone_among_others_and_after_others(sample: Sample) -> None:
    sample.memory.view(sample.memory.fold(sample.materials))
    for (change, options), material in zip(sample.history.edits, sample.materials, strict=True):
        assert (material.edit, material.block.key) == (change.id, block_key(change.id))
        assert json.loads(json.dumps(material.notes)) == material.notes
        changes = [other for other, settings in sample.history.edits if settings == options]
        digests = {other.edit: other.block.digest for other in sample.build(*changes, **options)}
        assert digests[change.id] == material.block.digest
        (same_rows,) = sample.build(replace(change, id="another"), **options)
        assert (same_rows.edit, same_rows.block.digest) == ("another", material.block.digest)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_refusal_stands_in_its_place_among_good_changes(sample: Sample, place: int) -> None:
    good = [change for change, options in sample.history.edits if not options][:2]
    for code, change in REFUSED[BANK if sample.name == HUB else sample.name].items():
        results = sample.build(*good[:place], change, *good[place:])
        refusal = results.pop(place)
        assert isinstance(refusal, EditRefused)
        assert (refusal.code, str(refusal)) == (code, refusal.detail)
        assert [result.edit for result in results] == [change.id for change in good]
        assert [r.block.digest for r in results] == [r.block.digest for r in sample.build(*good)]


@examples(12)
@given(steps=st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=4))
def test_an_image_and_its_replies_follow_from_the_active_edits_alone(
    sample: Sample, steps: Sequence[set[int]]
) -> None:
    """The views go from any set of active edits to any other, forwards and back, and to none, in one step."""
    memory, image = sample.memory, sample.memory.base
    for step in [*steps, set()]:
        places = frozenset(place for place in step if place < len(sample.materials))
        materials = [sample.materials[place] for place in sorted(places)]
        next_image = memory.fold(materials)
        assert image.apply(image.delta_to(next_image)).checksum == next_image.checksum
        image, state = next_image, (next_image.checksum, sample.say(next_image))
        assert sample.states.setdefault(places, state) == state
        later = [in_place(material, 1_000 + 7 * n) for n, material in enumerate(materials)]
        assert memory.fold(later).checksum == next_image.checksum
    assert image.checksum == memory.base.checksum


def test_each_set_of_edits_has_an_image_of_its_own(sample: Sample) -> None:
    sets = [s for n in range(4) for s in itertools.combinations(sample.materials[:4], n)]
    assert len({sample.memory.fold(materials).checksum for materials in sets}) == len(sets)


def test_the_order_of_two_edits_is_in_the_checksum(sample: Sample) -> None:
    first, second = sample.materials[:2]
    in_other_order = [in_place(second, 1), in_place(first, 2)]
    assert sample.memory.fold(in_other_order).checksum != sample.memory.fold([first, second]).checksum


def test_a_view_that_is_held_does_not_change_when_the_next_is_made(sample: Sample) -> None:
    image = sample.memory.fold(sample.materials[:1])
    views = {**sample.other_views, sample.name: sample.memory.view(image)}
    before = answer(sample.bundle, sample.history.asks, views)
    sample.memory.view(sample.memory.base)
    sample.memory.view(sample.memory.fold(sample.materials))
    assert answer(sample.bundle, sample.history.asks, views) == before


def test_blocks_come_back_from_the_ledger_as_they_were(sample: Sample) -> None:
    decoded = [
        replace(m, block=Block.decode(b.encoded, key=b.key, order=b.order, digest=b.digest))
        for m in sample.materials
        for b in [m.block]
    ]
    image = sample.memory.fold(decoded)
    assert image.checksum == sample.memory.fold(sample.materials).checksum
    assert sample.say(image) == sample.say(sample.memory.fold(sample.materials))


def test_edits_added_to_an_image_give_what_folding_all_gives(sample: Sample) -> None:
    memory = sample.memory
    if isinstance(memory, Grows):
        for place in range(len(sample.materials)):
            image = memory.grow(memory.fold(sample.materials[:place]), sample.materials[place:])
            expected = memory.fold(sample.materials)
            assert image is None or image.checksum == expected.checksum
            assert image is None or memory.usage(image) == memory.usage(expected)


def test_usage_counts_what_edits_take(sample: Sample) -> None:
    usages = [sample.memory.usage(sample.memory.fold(sample.materials[:n])) for n in (0, 1, 2)]
    counts = [usage.slots_used for usage in usages]
    assert counts[0] == 0
    assert counts == sorted(counts)
    if sample.name != DOCUMENTS:  # it says what it holds in words
        assert counts[0] < counts[1]
    assert all(isinstance(warning, str) for usage in usages for warning in usage.warnings)
    assert all(usage.slots_reserved is None or usage.slots_reserved >= usage.slots_used for usage in usages)


def test_the_fields_of_a_change_are_read_back_and_said_in_a_line(sample: Sample) -> None:
    for change, _ in sample.history.edits:
        if isinstance(change, FieldsChange):
            data = change.fields.model_dump(mode="json", exclude_unset=True)
            assert type(change.fields).model_validate(json.loads(json.dumps(data))) == change.fields
            assert change.fields.outline().keys() == data.keys()
            assert json.dumps(change.fields.outline())
            assert "\n" not in change.fields.summarize() != ""
