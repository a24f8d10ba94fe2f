"""Rows of similar lengths share a group, and values that recur are computed once.

A memory of blocks is their union, and a text is kept to the byte.
The longest of overlapping names counts, and the first of equal ones.
A reply gives the best answer or withholds it; the others share what it leaves.
Word pieces keep their places in the text, and a name is found as whole words.
"""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from models.blocks import Image
from models.encoder.weights import find
from models.graph.knowledge import Fact, Mention
from models.kbert.checkpoint import CheckpointError
from models.kbert.tree import grow
from models.kit.batching import Cache, by_length
from models.kit.material import UnionMemory, read_text, write_texts
from models.kit.names import contains_name, keep_longest
from models.kit.replies import clip, decline, fact_json, log_odds, reply, share_rest
from models.kit.text import Word, WordPieces
from models.memory import EditRefused, FieldsChange, Material, Options
from models.relational.memory import RuleFields
from models.system import UNSURE, Alternative, Reply


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 60), st.integers(1, 6))
def test_every_row_is_in_one_group_within_its_bounds(lengths: list[int], budget: int, max_rows: int) -> None:
    groups = by_length(lengths, budget, max_rows)
    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) <= max_rows
        assert len(group) == 1 or len(group) * max(lengths[place] for place in group) <= budget
    flat = [lengths[place] for group in groups for place in group]
    assert flat == sorted(flat)


def test_a_group_is_filled_before_the_next_begins() -> None:
    assert by_length([5, 1, 1, 4], budget=10) == [[1, 2], [3, 0]]


def test_values_are_computed_once_and_the_least_recently_used_leave_the_cache() -> None:
    reads: list[str] = []

    def compute(keys: list[str]) -> list[int]:
        reads.extend(keys)
        return [len(key) for key in keys]

    cache: Cache[str, int] = Cache(2)
    for keys in (["a", "bb", "a"], ["bb", "c"], ["a"]):
        assert cache.of(keys, compute) == {key: len(key) for key in keys}
    assert reads == ["a", "bb", "c", "a"]


def test_threads_share_a_cache() -> None:
    cache: Cache[int, int] = Cache(50)

    def ask(start: int) -> bool:
        keys = [number % 80 for number in range(start, start + 40)]
        return cache.of(keys, lambda new: [key * key for key in new]) == {key: key * key for key in keys}

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(400)))


class Notes(UnionMemory):
    name = "tests/notes"

    def make(self, change: FieldsChange) -> Material:
        if not change.question:
            raise EditRefused("empty", "write something")
        return write_texts(change.id, "note", {"json": change.question}, {"length": len(change.question)})


def change(id: str, text: str) -> FieldsChange:
    return FieldsChange(id, "rule", RuleFields(rule="forbid(E) <= hidden.stay(E)"), text)


def test_a_change_that_cannot_work_is_refused_in_its_place() -> None:
    first, refusal, last = Notes().build([change("a", "x"), change("b", ""), change("c", "y")], Options())
    assert isinstance(refusal, EditRefused)
    assert (first.edit, last.edit, last.notes) == ("a", "c", {"length": 1})


def test_the_state_is_the_union_of_the_blocks_and_undo_leaves_no_trace() -> None:
    memory = Notes()
    materials = [
        m for m in memory.build([change("a", "x"), change("b", "y")], Options()) if isinstance(m, Material)
    ]
    assert memory.fold([]) == memory.base == Image(memory.base.base)
    assert memory.fold(materials).blocks.keys() == {"edit/a", "edit/b"}
    assert (
        memory.fold(materials[:1]).checksum
        == memory.fold(materials).apply(memory.fold(materials).delta_to(memory.fold(materials[:1]))).checksum
    )
    assert memory.usage(memory.fold(materials)).slots_used == 2


@pytest.mark.parametrize("text", ["", "\0", "Zürich 😀"])
@given(second_text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_read_as_it_was_written(text: str, second_text: str) -> None:
    block = write_texts("a", "note", {"one": text, "two": second_text}).block
    assert (read_text(block, "one"), read_text(block, "two")) == (text, second_text)


def test_of_names_that_overlap_the_longest_counts_in_the_order_of_the_text() -> None:
    spans = [(20, 24), (4, 11), (4, 7), (9, 13), (30, 32), (31, 33)]
    mentions = [Mention(start, end, ()) for start, end in spans]
    longest = keep_longest(mentions, lambda mention: mention)
    assert [(mention.start, mention.end) for mention in longest] == [(4, 11), (20, 24), (30, 32)]


def test_a_reason_withholds_the_best_answer_and_keeps_all_else() -> None:
    given_answer = reply("Lima", 0.9, None, ("e1", "", "e2", "e1"), [("Cusco", 0.05)], truncated=True)
    assert given_answer == Reply(
        "Lima", 0.9, "Lima", None, ("e1", "e2"), (Alternative("Cusco", 0.05),), truncated=True
    )
    assert reply("Lima", 0.2, UNSURE) == Reply(None, 0.2, "Lima", UNSURE)
    assert decline(UNSURE, ("e1",)) == Reply(None, 0.0, "", UNSURE, ("e1",))


@given(st.floats(0, 1), st.lists(st.floats(0.001, 5), min_size=1, max_size=5), st.floats(0, 3))
def test_the_rest_is_shared_in_proportion(score: float, weights: list[float], no_answer: float) -> None:
    shares = share_rest(score, weights, no_answer)
    assert sum(shares) == pytest.approx((1 - score) * sum(weights) / (sum(weights) + no_answer))
    assert [share * weights[0] for share in shares] == pytest.approx(
        [shares[0] * weight for weight in weights]
    )


def test_log_odds_are_finite_and_values_are_clipped() -> None:
    assert log_odds(0.5) == 0
    assert [log_odds(0.0), -log_odds(1.0)] == pytest.approx([math.log(1e-6)] * 2, rel=1e-6)
    assert [clip(value, 2.0) for value in (-9.0, 1.0, 9.0)] == [-2.0, 1.0, 2.0]


def test_a_fact_is_named_with_its_subject_and_its_edit() -> None:
    fact = Fact("capital", "capital city", "Lima", "Q2868", "e1")
    assert fact_json("Q419", "Peru", fact) == {
        "entity": "Q419",
        "subject": "Peru",
        "relation": "capital",
        "label": "capital city",
        "object": "Lima",
        "edit": "e1",
    }


SENTENCES = [
    "What's the capital of Perú?",
    "Naïve co-operation costs €5 (U.S.)!",
    "東京 is Tokyo",
    "a_b\u200bc d",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_word_pieces_are_those_of_the_tokenizer(pieces: WordPieces, text: str) -> None:
    tokenizer = find().tokenizer()
    tokenizer.no_padding()
    expected = tokenizer.encode(text, add_special_tokens=False)
    actual = pieces.split(text)
    assert [piece.id for piece in actual] == expected.ids
    assert [(piece.start, piece.end) for piece in actual] == expected.offsets


def test_a_tag_spelt_in_a_text_is_characters(pieces: WordPieces) -> None:
    assert pieces.tag("[SEP]").id not in [piece.id for piece in pieces.split("[SEP]")]


def test_words_and_facts_of_which_no_token_is_left_go(pieces: WordPieces) -> None:
    tree = grow([Word("\u0301"), Word("b")], [["an accent"], ["\u0301", "is"]], pieces)
    assert [node.word.text for node in tree.nodes] == ["b"]
    assert [(branch.text, branch.number) for branch in tree.branches] == [("is", 2)]


def test_a_vocabulary_that_is_no_berts_is_refused() -> None:
    from tokenizers.models import WordLevel

    with pytest.raises(CheckpointError, match=r"lacks \[UNK\], \[CLS\]"):
        WordPieces(Tokenizer(WordLevel({"[PAD]": 0, "a": 1, "[SEP]": 2, "[MASK]": 3}, unk_token="a")))


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("in oslo.", "oslo", True),
        ("oslofjord", "oslo", False),
        ("oslofjord, oslo", "oslo", True),
        ("a", "", False),
    ],
)
def test_a_name_is_found_as_whole_words(text: str, name: str, expected: bool) -> None:
    assert contains_name(text, name) is expected
