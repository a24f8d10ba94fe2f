"""Each change is tried on all questions of the pack: none that it touches is passed over, and hardly any other kept."""

import dataclasses
from pathlib import Path

import pytest
import torch

from models.checkpoint import CheckpointError
from models.nkb import slots
from models.nkb.alike import alike
from models.nkb.reader import DEFAULT, digest
from models.nkb.scope import READINGS
from models.nkb.system import NkbSystem, NkbView
from models.nkb.watched import KEYS, Watched
from models.packs.pack import Item, Pack
from models.memory import AnswerChange, Material
from models.system import Ask
from tests.models.nkb.ordered import in_ledger_order

EVERY = 40  # of the pack's facts, one is edited
FEW = 3  # questions that have to be read for an edit, beside those that it touches


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return list(Pack.load().items())


@pytest.fixture(scope="module")
def watched(system: NkbSystem) -> Watched:
    """As an editor of the default checkpoint has them."""
    return system._watched


@pytest.fixture(scope="module")
def materials(system: NkbSystem, items: list[Item]) -> list[Material]:
    """Edits of every kind of fact, in a phrasing that nothing was trained on."""
    wordings = [one.relation.held[0].replace("{subject}", one.subject.label) for one in items[::EVERY]]
    corrections = [AnswerChange(str(n), wording, "Peru") for n, wording in enumerate(wordings)]
    return in_ledger_order(system.edit(corrections, "gated"))


def view(system: NkbSystem, materials: list[Material]) -> NkbView:
    return system.view(system.fold(materials))


def test_what_is_kept_are_the_packs_questions(items: list[Item]) -> None:
    assert Watched.load(DEFAULT, digest(DEFAULT)).questions == tuple(
        i.relation.question(i.subject.label) for i in items
    )


def test_every_question_that_an_edit_answers_is_found_and_hardly_any_other(
    system: NkbSystem, materials: list[Material], items: list[Item]
) -> None:
    half = view(system, materials[::2])
    whole = view(system, materials)
    found = system.touched(half, whole)
    assert found is not None
    asks = [Ask(question) for question in Watched.load(DEFAULT, digest(DEFAULT)).questions[::EVERY]]
    moved = {
        ask.question
        for ask, same in zip(asks, system.unmoved((asks, half), (asks, whole)), strict=True)
        if not same
    }
    assert len(moved) > 0.4 * len(asks), "the facts that are edited"
    assert moved <= set(found)
    edits = len(materials) - len(materials[::2])
    assert len(found) < (1 + FEW) * edits
    assert system.touched(whole, half) == found


def test_a_kept_key_misses_a_real_one_by_no_more_than_the_slack(system: NkbSystem, watched: Watched) -> None:
    places = range(0, len(watched.questions), 4 * EVERY)
    real = system.reader.read([watched.questions[place] for place in places]).keyed.keys
    kept = watched.keyed.keys[list(places)]
    lost = torch.stack([part.norm(dim=-1) for part in torch.split(real - kept, READINGS, -1)], -1)
    assert bool((lost <= watched.slack + 1e-6).all())
    assert float(lost.max()) > 0.5 * float(watched.slack.max())


def test_the_surest_is_named_last(system: NkbSystem) -> None:
    base = system.view(system.base)
    (material,) = in_ledger_order(system.edit([AnswerChange("a", "Peru's capital city?", "Cusco")], "gated"))
    found = system.touched(base, view(system, [material]))
    assert found is not None
    assert found[-1] == "What is the capital of Peru?"


def test_nothing_is_touched_where_nothing_changed_and_surgery_may_touch_any(
    system: NkbSystem, materials: list[Material]
) -> None:
    base = system.view(system.base)
    one = view(system, materials[:5])
    assert system.touched(one, view(system, list(materials[:5]))) == []
    moved = in_ledger_order(
        system.edit([AnswerChange("s", "What is the capital of Peru?", "Cusco")], "surgery")
    )
    assert system.touched(base, view(system, moved)) is None


def test_what_is_passed_over_does_not_depend_on_how_many_gates_changed_at_once(
    system: NkbSystem, materials: list[Material]
) -> None:
    base = system.view(system.base)
    together = system.touched(base, view(system, materials[:6]))
    alone = [system.touched(base, view(system, [one])) for one in materials[:6]]
    assert together is not None
    assert set(together) == {question for some in alone for question in some or ()}


def test_a_gate_opens_for_none_that_is_passed_over(
    system: NkbSystem, watched: Watched, materials: list[Material]
) -> None:
    whole = view(system, materials).gates.table
    near = set(watched.near(system.reader.scope, whole))
    others = [question for question in watched.questions[:: EVERY // 4] if question not in near]
    assert len(alike(system.reader.scope, system.reader.read(others[:300]).keyed, whole).asked) == 0


def test_a_question_that_another_wording_of_the_edit_answered_is_found_when_a_later_one_takes_over(
    system: NkbSystem,
) -> None:
    first = AnswerChange("a", "Peru's capital?", "Cusco", ("What is the capital of Chile?",))
    materials = in_ledger_order(system.edit([first, AnswerChange("b", "Peru's capital?", "Puno")], "gated"))
    before, after = view(system, materials[:1]), view(system, materials)
    asks = [Ask("What is the capital of Chile?")]
    assert system.unmoved((asks, before), (asks, after)) == [False]
    assert asks[0].question in (system.touched(before, after) or ())


def test_a_key_that_may_be_further_off_passes_over_less(
    system: NkbSystem, watched: Watched, materials: list[Material]
) -> None:
    table = view(system, materials[:20]).gates.table
    vague = dataclasses.replace(watched, slack=20 * watched.slack)
    assert set(watched.near(system.reader.scope, table)) < set(vague.near(system.reader.scope, table))


def test_between_tables_that_share_no_rows_nothing_is_told(
    system: NkbSystem, materials: list[Material], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = NkbSystem(system.reader)
    monkeypatch.setattr(slots, "SPARE", 4)
    before = view(fresh, materials[:2])
    for start in range(2, 40, 2):
        after = view(fresh, materials[start : start + 2])
    assert before.gates.generation != after.gates.generation
    assert fresh.touched(before, after) is None


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    mine = Watched.load(DEFAULT, digest(DEFAULT))
    with pytest.raises(CheckpointError, match=r"missing.*make train"):
        Watched.load(folder, mine.checkpoint)
    mine.save(folder)
    assert Watched.load(folder, mine.checkpoint).questions == mine.questions
    with pytest.raises(CheckpointError, match=r"made for the checkpoint sha256.*make train"):
        Watched.load(folder, "sha256:another")
    (tmp_path / "mine-watched" / KEYS).write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=r"damaged.*make train"):
        Watched.load(folder, mine.checkpoint)
