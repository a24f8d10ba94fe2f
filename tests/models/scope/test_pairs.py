"""All pairs that are about one fact are found, and the bound by which they are looked for loses none."""

import torch

from models.nkb.reader import Reader
from models.scope.keys import UNKNOWN, QuestionKeys
from models.scope.literals import MAX_WORDS, covers_names
from models.scope.network import KEY, READINGS
from models.scope.pairs import Pairs, best_gates, find_pairs


def draw_keys(count: int, seed: int) -> QuestionKeys:
    """Readings so near each other that gates open between some of them."""
    generator = torch.Generator().manual_seed(seed)
    middle = torch.randn(KEY, generator=generator)
    keys = middle + 0.75 * torch.randn(count, KEY, generator=generator)
    parts = [torch.nn.functional.normalize(part, dim=-1) for part in keys.split(READINGS, -1)]
    numbers, subjects = (torch.randint(0, limit, (count,), generator=generator) for limit in (2, 3))
    words = torch.randint(0, 4, (count, MAX_WORDS), generator=generator, dtype=torch.int32)
    words[:, 0] = torch.where(words[:, 0] < 2, -5, 5)
    words[:, -1] = 0
    words[words[:, 1] > 1, 0] = 4
    return QuestionKeys(torch.cat(parts, -1), numbers, subjects + UNKNOWN, words)


def test_they_are_those_of_every_pair_looked_at_by_itself(reader: Reader) -> None:
    gate, questions, table = reader.scope, draw_keys(300, 1), draw_keys(400, 1)
    with torch.inference_mode():
        logits = gate.logit(gate.cosines(questions.keys, table.keys))
        matches = find_pairs(gate, questions, table)
    logits = logits.clone()
    about, of = questions.subjects[:, None], table.subjects
    apart = (about != of) & (about != UNKNOWN) & (of != UNKNOWN)
    logits[apart | (questions.numbers[:, None] != table.numbers)] = -1
    covers = covers_names(table.words.repeat(300, 1), questions.words.repeat_interleave(400, 0)).view(
        300, 400
    )
    assert 0.1 < covers.float().mean() < 0.9
    logits[~covers] = -1
    expected = {(i, j) for i, j in (logits > 1e-4).nonzero().tolist()}
    doubtful = {(i, j) for i, j in (logits.abs() <= 1e-4).nonzero().tolist()}
    pairs = set(zip(matches.question.tolist(), matches.gate.tolist(), strict=True))
    assert 50 < len(expected) < 60_000
    assert pairs - doubtful == expected - doubtful


def test_more_alike_is_never_less_the_same_question(reader: Reader) -> None:
    gate = reader.scope
    cosines = torch.rand(2_000, 4, generator=torch.Generator().manual_seed(2)) * 2 - 1
    higher = cosines + (1 - cosines) * torch.rand(2_000, 4, generator=torch.Generator().manual_seed(3))
    assert bool((gate.logit(higher) >= gate.logit(cosines)).all())


def test_a_gate_below_the_bound_stays_shut(reader: Reader) -> None:
    gate = reader.scope
    three = torch.rand(200_000, 3, generator=torch.Generator().manual_seed(4)) * 2 - 1
    below = three[three.sum(-1) < gate.open_bound]
    opens = gate.logit(torch.cat([below, torch.ones(len(below), 1)], -1)) > 0
    assert len(below) > 1_000
    assert not bool(opens.any())


def test_the_best_is_the_first_of_equals_in_any_order() -> None:
    pairs = Pairs(torch.tensor([0, 0, 2, 0]), torch.tensor([5, 3, 1, 4]), torch.tensor([2.0, 2.0, 1.0, 0.5]))
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        permutation = Pairs(pairs.question[order], pairs.gate[order], pairs.logit[order])
        logit, row = best_gates(permutation, 3)
        assert row.tolist() == [3, -1, 1]
        assert logit.tolist() == [2.0, float("-inf"), 1.0]


NEAR_NAMES = [
    ("Who developed Apple A8?", "Who developed Apple A8X?"),
    (
        "What is the capital of Republic of the Congo?",
        "What is the capital of Democratic Republic of the Congo?",
    ),
    ("Who developed Final Fantasy III?", "Who developed Final Fantasy Legend III?"),
    ("Who performed Black or White?", "Who performed Black & White?"),
    (
        "Where is the headquarters of World Class Championship Wrestling?",
        "Where is the headquarters of World Championship Wrestling?",
    ),
]


def test_things_that_were_taught_are_told_apart_however_alike_their_names(reader: Reader) -> None:
    for pair in NEAR_NAMES:
        questions = reader.read(pair).question_keys
        matches = find_pairs(reader.scope, questions, questions)
        assert list(zip(matches.question.tolist(), matches.gate.tolist(), strict=True)) == [(0, 0), (1, 1)], (
            pair
        )


def test_one_thing_stays_one_in_other_words(reader: Reader) -> None:
    questions = reader.read(
        ["Who developed Apple A8?", "Which company developed apple a8?", "Apple A8 was developed by whom?"]
    ).question_keys
    assert len(set(questions.subjects.tolist())) == 1
    assert set(find_pairs(reader.scope, questions, questions).gate[:3].tolist()) == {0, 1, 2}
