"""Each change is compared with all questions of the pack: none that it touches is missed, and hardly any other kept."""

import dataclasses
from pathlib import Path

import pytest

from models.kit.checkpoint import CheckpointError, read_verified
from models.memory import AnswerChange, Material
from models.nkb.memory import BANK, BankMemory
from models.nkb.reader import DEFAULT, FILES, ReadCache
from models.nkb.system import NkbSystem
from models.packs.pack import Item, Pack
from models.scope.probe_index import VECTORS, ProbeIndex
from models.scope.readings import dequantize
from models.scope.wordings import table as wording_table
from models.system import Ask, Side
from tests.models.nkb.small_t5 import build, read

EVERY = 40  # of the pack's facts, one is edited
MAX_EXTRA = 3  # questions that have to be read for an edit, beside those that it touches


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return list(Pack.load().items())


@pytest.fixture(scope="module")
def index(system: NkbSystem) -> ProbeIndex:
    """Return the index as an editor of the default checkpoint has it."""
    return system.probe_index


@pytest.fixture(scope="module")
def materials(memory: BankMemory, items: list[Item]) -> list[Material]:
    """Make edits of every kind of fact, in a phrasing that nothing was trained on."""
    wordings = [item.relation.held_out[0].replace("{subject}", item.subject.label) for item in items[::EVERY]]
    corrections = [AnswerChange(str(n), wording, "Peru") for n, wording in enumerate(wordings)]
    return build(memory, corrections)


def test_what_is_kept_are_the_packs_questions(items: list[Item]) -> None:
    assert ProbeIndex.load(DEFAULT, read_verified(DEFAULT, FILES).digest).questions == tuple(
        i.relation.question(i.subject.label) for i in items
    )


def test_every_question_that_an_edit_answers_is_found_and_hardly_any_other(
    system: NkbSystem, memory: BankMemory, materials: list[Material], items: list[Item]
) -> None:
    half = read(memory, materials[::2])
    whole = read(memory, materials)
    probes = system.find_affected(half, whole)
    assert probes is not None
    asks = [
        Ask(question)
        for question in ProbeIndex.load(DEFAULT, read_verified(DEFAULT, FILES).digest).questions[::EVERY]
    ]
    changed_questions = {
        ask.question
        for ask, differs in zip(asks, system.may_differ(Side(asks, half), Side(asks, whole)), strict=True)
        if differs
    }
    assert len(changed_questions) > 0.4 * len(asks), "the facts that are edited"
    assert changed_questions <= set(probes)
    edits = len(materials) - len(materials[::2])
    assert len(probes) < (1 + MAX_EXTRA) * edits
    assert system.find_affected(whole, half) == probes


def test_a_kept_vector_misses_a_real_one_by_no_more_than_the_slack(
    system: NkbSystem, index: ProbeIndex
) -> None:
    places = range(0, len(index.questions), 4 * EVERY)
    real = system.reader.read([index.questions[place] for place in places]).readings.vectors
    errors = (real - dequantize(index.codes[list(places)])).norm(dim=-1)
    assert bool((errors <= index.slack + 1e-6).all())
    assert float(errors.max()) > 0.5 * index.slack


def test_the_surest_is_named_last(system: NkbSystem, memory: BankMemory) -> None:
    base = read(memory)
    (material,) = build(memory, [AnswerChange("a", "Peru's capital city?", "Cusco")])
    probes = system.find_affected(base, read(memory, [material]))
    assert probes is not None
    assert probes[-1] == "What is the capital of Peru?"


def test_nothing_is_touched_where_nothing_changed_and_surgery_may_touch_any(
    system: NkbSystem, memory: BankMemory, materials: list[Material]
) -> None:
    base = read(memory)
    views = read(memory, materials[:5])
    assert system.find_affected(views, read(memory, list(materials[:5]))) == []
    surgery = build(memory, [AnswerChange("s", "What is the capital of Peru?", "Cusco")], "surgery")
    assert system.find_affected(base, read(memory, surgery)) is None


def test_what_is_passed_over_does_not_depend_on_how_many_wordings_changed_at_once(
    system: NkbSystem, memory: BankMemory, materials: list[Material]
) -> None:
    base = read(memory)
    together = system.find_affected(base, read(memory, materials[:6]))
    alone = [system.find_affected(base, read(memory, [material])) for material in materials[:6]]
    assert together is not None
    assert set(together) == {question for questions in alone for question in questions or ()}


def test_no_edit_answers_one_that_is_passed_over(
    system: NkbSystem, memory: BankMemory, index: ProbeIndex, materials: list[Material]
) -> None:
    views = read(memory, materials)
    table = views[BANK].active_edits.table
    near = set(index.near(table.select(range(len(table)))))
    far_questions = [question for question in index.questions[:: EVERY // 4] if question not in near]
    assert len(far_questions) > 300
    assert set(system.route([Ask(question) for question in far_questions[:300]], views)) == {None}


def test_a_question_that_another_wording_of_the_edit_answered_is_found_when_a_later_one_takes_over(
    system: NkbSystem,
    memory: BankMemory,
) -> None:
    first = AnswerChange("a", "Peru's capital?", "Cusco", ("What is the capital of Chile?",))
    materials = build(memory, [first, AnswerChange("b", "Peru's capital?", "Puno", replaces=("a",))])
    before, after = read(memory, materials[:1]), read(memory, materials)
    asks = [Ask("What is the capital of Chile?")]
    assert system.may_differ(Side(asks, before), Side(asks, after)) == [True]
    assert asks[0].question in (system.find_affected(before, after) or ())


def test_a_vector_that_may_be_further_off_passes_over_less(
    memory: BankMemory, index: ProbeIndex, materials: list[Material]
) -> None:
    table = read(memory, materials[:20])[BANK].active_edits.table.select(range(20))
    vague = dataclasses.replace(index, slack=20 * index.slack)
    assert set(index.near(table)) < set(vague.near(table))


def test_between_tables_that_share_no_rows_nothing_is_told(
    system: NkbSystem, materials: list[Material], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, fresh_memory = NkbSystem(system.reader), BankMemory(system.reader, ReadCache(system.reader))
    monkeypatch.setattr(wording_table, "SPARE", 4)
    before = read(fresh_memory, materials[:2])
    for start in range(2, 40, 2):
        after = read(fresh_memory, materials[start : start + 2])
    assert before[BANK].active_edits.generation != after[BANK].active_edits.generation
    assert fresh.find_affected(before, after) is None


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    index = ProbeIndex.load(DEFAULT, read_verified(DEFAULT, FILES).digest)
    with pytest.raises(CheckpointError, match=r"missing.*make train"):
        ProbeIndex.load(folder, index.checkpoint)
    index.save(folder)
    assert ProbeIndex.load(folder, index.checkpoint).questions == index.questions
    with pytest.raises(CheckpointError, match=r"made for the checkpoint sha256.*make train"):
        ProbeIndex.load(folder, "sha256:another")
    (tmp_path / "mine-probes" / VECTORS).write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=r"damaged.*make train"):
        ProbeIndex.load(folder, index.checkpoint)
