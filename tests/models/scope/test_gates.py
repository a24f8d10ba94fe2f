"""Gates open for their own question, at their own version, the later of two edits first."""

import math

import pytest
import torch

from models.memory import Block
from models.scope import slot_table
from models.scope.gates import Gates, match_gates
from models.scope.keys import UNKNOWN, QuestionKeys
from models.scope.literals import digest_numbers, encode_words
from models.scope.network import ASPECT, KEY, Scope
from models.scope.slot_table import SlotTable

N_STEPS, D = 3, 8
WEIGHT = math.log(math.e - 1)  # as the weight that acts as 1
PARTS = [ASPECT, ASPECT, ASPECT, KEY - 3 * ASPECT]
NO_SUBJECTS = torch.zeros(1, ASPECT)  # was taught


@pytest.fixture
def scope() -> Scope:
    """A scope that opens when all four cosines are near one."""
    scope = Scope()
    with torch.no_grad():
        scope.hidden.weight.fill_(WEIGHT)
        scope.hidden.bias.fill_(-3.6)
        scope.open.weight.fill_(WEIGHT)
        scope.open.bias.fill_(-0.5)
    return scope.requires_grad_(False)


def key(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    parts = torch.randn(KEY, generator=generator).split(PARTS)
    return torch.cat([part / part.norm() for part in parts])


def block(name: str, order: int, *seeds: int) -> Block:
    keys = torch.stack([key(seed) for seed in seeds])
    return Block(
        f"edit/{name}",
        order,
        "gated",
        {
            "keys": keys,
            "numbers": digest_numbers([""] * len(keys)),
            "steps": torch.full((N_STEPS, D), float(order)),
        },
    )


def ask(scope: Scope, gates: Gates, *seeds: int) -> list[str | None]:
    keys = torch.stack([key(seed) for seed in seeds])
    gate_rows = match_gates(scope, question_keys(keys), [gates] * len(seeds))
    return [None if gate is None else gate.block.key for gate in gate_rows]


def question_keys(keys: torch.Tensor) -> QuestionKeys:
    return QuestionKeys(
        keys,
        digest_numbers([""] * len(keys)),
        torch.full((len(keys),), UNKNOWN),
        encode_words([""] * len(keys)),
    )


def test_a_question_opens_its_own_edit_and_no_other(scope: Scope) -> None:
    gates = SlotTable(scope, NO_SUBJECTS).gates([block("a", 1, 10), block("b", 2, 20)])
    assert ask(scope, gates, 20, 10, 30) == ["edit/b", "edit/a", None]


def test_a_question_about_one_taught_subject_is_not_about_another(scope: Scope) -> None:
    """However alike they are; one about nobody that was taught may be about either."""
    subjects = torch.stack([key(10)[:ASPECT], key(20)[:ASPECT]])
    gates = SlotTable(scope, subjects).gates([block("a", 1, 10)])
    same = torch.stack([key(10)] * 3)
    questions = QuestionKeys(
        same, digest_numbers([""] * 3), torch.tensor([0, 1, UNKNOWN]), encode_words([""] * 3)
    )
    matches = match_gates(scope, questions, [gates] * 3)
    assert [match is not None for match in matches] == [True, False, True]


def test_a_given_paraphrase_opens_the_edit_too(scope: Scope) -> None:
    gates = SlotTable(scope, NO_SUBJECTS).gates([block("a", 1, 10, 11)])
    assert ask(scope, gates, 10, 11) == ["edit/a", "edit/a"]


def test_of_two_edits_of_one_question_the_later_answers(scope: Scope) -> None:
    table = SlotTable(scope, NO_SUBJECTS)
    first, second = block("first", 1, 10), block("second", 2, 10)
    assert ask(scope, table.gates([first, second]), 10) == ["edit/second"]
    assert ask(scope, table.gates([first]), 10) == ["edit/first"], (
        "taking the later one back uncovers the first"
    )


def test_a_later_edit_of_the_fact_answers_in_the_earlier_ones_words(scope: Scope) -> None:
    gates = SlotTable(scope, NO_SUBJECTS).gates([block("first", 1, 10), block("second", 2, 20, 10)])
    assert ask(scope, gates, 10) == ["edit/second"]


def test_a_correction_of_a_correction_is_heard_in_all_the_first_ones_wordings(scope: Scope) -> None:
    gates = SlotTable(scope, NO_SUBJECTS).gates([block("first", 1, 10, 11, 12), block("second", 2, 10)])
    assert ask(scope, gates, 10, 11, 12) == ["edit/second"] * 3


def test_an_edit_of_a_mere_wording_leaves_the_question_it_was_given_with(scope: Scope) -> None:
    gates = SlotTable(scope, NO_SUBJECTS).gates([block("first", 1, 10, 11), block("second", 2, 11)])
    assert ask(scope, gates, 10, 11) == ["edit/first", "edit/second"]


@pytest.mark.parametrize("same", [True, False], ids=["one wording", "wordings alike"])
def test_the_latest_of_very_many_edits_of_one_fact_answers(scope: Scope, same: bool) -> None:
    """More than are looked at closely."""
    gates = SlotTable(scope, NO_SUBJECTS).gates(
        [near(f"{n:03d}", n, 0.0 if same else 0.002 * n) for n in range(1, 61)]
    )
    for count in range(1, 61):
        first = SlotTable(scope, NO_SUBJECTS).gates(list(gates.edits[:count]))
        assert ask(scope, first, 10) == [f"edit/{count:03d}"]


def near(name: str, order: int, angle: float) -> Block:
    """An edit of question 10, worded the less like it the more it is turned."""
    edit = block(name, order, 10)
    parts = zip(key(10).split(PARTS), key(11).split(PARTS), strict=True)
    turns = [part + angle * other for part, other in parts]
    keys = torch.cat([part / part.norm() for part in turns])[None]
    return Block(edit.key, order, "gated", {**edit.tensors, "keys": keys})


def test_who_owns_what_two_edits_share_does_not_hang_on_the_number_of_threads(scope: Scope) -> None:
    """A, B and A again, among so many that torch shares the work out."""
    edits = [block(f"other {n}", n, 1000 + n) for n in range(40)]
    large_edit = Block("edit/many", 50, "gated", {**edits[0].tensors, **keys_of(range(5_000, 11_000))})
    shared = [
        block("a", 60, 10),
        block("b", 61, 10),
        Block("edit/c", 62, "gated", block("a", 60, 10).tensors),
    ]
    for _ in range(4):
        assert ask(scope, SlotTable(scope, NO_SUBJECTS).gates([*edits, large_edit, *shared]), 10) == [
            "edit/c"
        ]


def keys_of(seeds: range) -> dict[str, torch.Tensor]:
    noise = torch.randn(len(seeds), KEY, generator=torch.Generator().manual_seed(seeds.start))
    keys = torch.cat([torch.nn.functional.normalize(part, dim=-1) for part in noise.split(PARTS, -1)], -1)
    return {"keys": keys, "numbers": digest_numbers([""] * len(seeds))}


def test_versions_in_one_batch_keep_to_their_own_gates(scope: Scope) -> None:
    table = SlotTable(scope, NO_SUBJECTS)
    old = table.gates([block("a", 1, 10)])
    new = table.gates([block("a", 1, 10), block("b", 2, 20)])
    none = table.gates([])
    matches = match_gates(scope, question_keys(torch.stack([key(20), key(20), key(10)])), [old, new, none])
    assert [match and match.block.key for match in matches] == [None, "edit/b", None]


def test_an_old_view_is_unmoved_when_the_table_grows(scope: Scope) -> None:
    table = SlotTable(scope, NO_SUBJECTS)
    old = table.gates([block("a", 1, 10)])
    before = old.table.keys.clone()
    table.gates([block(str(n), n, 100 + n) for n in range(2, 400)])
    assert torch.equal(old.table.keys, before)
    assert ask(scope, old, 10, 150) == ["edit/a", None]


def test_an_empty_table_opens_nothing(scope: Scope) -> None:
    assert ask(scope, SlotTable(scope, NO_SUBJECTS).gates([]), 10) == [None]


def test_a_block_seen_before_takes_no_new_rows(scope: Scope) -> None:
    table = SlotTable(scope, NO_SUBJECTS)
    first = table.gates([block("a", 1, 10)])
    again = table.gates([block("a", 1, 10)])
    assert len(first.table) == len(again.table) == 1


def test_a_question_edited_again_takes_no_new_rows_either(scope: Scope) -> None:
    table = SlotTable(scope, NO_SUBJECTS)
    table.gates([block("a", 1, 10, 11)])
    assert len(table.gates([block("b", 2, 11, 10)]).table) == 2


def test_rows_that_are_nobodys_any_more_are_let_go(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of before and one of after answer together all the same."""
    monkeypatch.setattr(slot_table, "SPARE", 8)
    table, edit = SlotTable(scope, NO_SUBJECTS), block("kept", 1, 10)
    before = table.gates([edit])
    for n in range(2, 30):
        last = table.gates([edit, block(str(n), n, 100 + n)])
        assert len(last.table) <= 8 + 2 * 4 + 1
    assert last.generation > before.generation
    questions = torch.stack([key(10), key(129), key(10), key(129)])
    matches = match_gates(scope, question_keys(questions), [before, before, last, last])
    assert [match and match.block.key for match in matches] == ["edit/kept", None, "edit/kept", "edit/29"]


def test_a_look_at_a_small_version_costs_the_large_one_nothing(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_table, "SPARE", 8)
    table, edits = SlotTable(scope, NO_SUBJECTS), [block(str(n), n, n) for n in range(1, 40)]
    newest = table.gates(edits)
    small = table.gates([])
    assert small.generation == newest.generation == table.gates(edits).generation


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("What is the refund period for plan A?", "What is the refund period for plan B?"),
        ("What does vitamin C do?", "What does vitamin D do?"),
        ("中国的首都是什么？", "什么是法国的首都？"),
        ("한국의 수도는 어디입니까?", "일본의 수도는 어디입니까?"),
        ("Какая столица России?", "Какая столица Франции?"),
        ("ما هي عاصمة مصر؟", "ما هي عاصمة فرنسا؟"),
        ("Which project is 7?", "Which project is ７1?"),
    ],
)
def test_what_a_language_model_confuses_is_told_apart_to_the_letter(question: str, other: str) -> None:
    first, second, again = digest_numbers([question, other, question.upper().replace("?", " ?")])
    assert first != second
    assert first == again


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Who wrote Emma as J. K. Rowling?", "Who wrote Emma as JK Rowling?"),
        ("What is the U.S. currency?", "What's the currency of the US?"),
        ("I want Peru's capital", "What is a capital of Peru"),
        ("Côte d'Ivoire's capital?", "capital of Côte d’Ivoire"),
    ],
)
def test_what_may_be_written_in_other_ways_is_not(question: str, other: str) -> None:
    first, second = digest_numbers([question, other])
    assert first == second == 0


def test_numbers_are_compared_whatever_the_words_around_them() -> None:
    number, other, same, none = digest_numbers(
        ["project 7, phase 2", "project 8, phase 2", "phase 2 of project 7?", "project"]
    )
    assert number == same
    assert len({int(number), int(other), int(none)}) == 3
