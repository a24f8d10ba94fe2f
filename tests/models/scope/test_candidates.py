"""A question is judged with the nearest wordings, none of which names another number or known subject.

Two questions are compared by their words: which are of names, what each lacks, and what that says.
Bounds of cosines exclude wordings that are too far, and none that is near.
"""

import pytest
import torch
from torch import Tensor

from models.encoder.minilm import WIDTH, MiniLM
from models.nkb.reader import Reader
from models.packs.pack import Pack
from models.scope import readings as readings_module
from models.scope.candidates import MAX_CANDIDATES, find_candidates
from models.scope.judge import Judge
from models.scope.readings import (
    NEAR_ERROR,
    UNKNOWN,
    Readings,
    StoredReadings,
    dequantize,
    far,
    may_share,
    quantize,
    scales_of,
)
from models.scope.sketch import BOUND_ERROR, Sketch
from models.scope.wordings import table as wording_table
from models.scope.wordings.contrast import SIGNS, Contrast
from models.scope.wordings.names import NO_NAMES, WordReader
from tests.models.scope.wordings import block, table


def read(reader: Reader, *questions: str) -> Readings:
    return reader.read(questions).readings


def store(reader: Reader, *wordings: str) -> StoredReadings:
    return StoredReadings.of(read(reader, *wordings))


def test_the_nearest_come_first_and_only_so_many(reader: Reader) -> None:
    birds = ["Falcon", "Condor", "Heron", "Osprey", "Kestrel", "Merlin", "Harrier", "Eagle"]
    names = [f"Who leads Project {bird}?" for bird in birds]
    pairs = find_candidates(read(reader, "Who leads Project Falcon now?", names[3]), store(reader, *names))
    assert pairs.question.tolist().count(0) == MAX_CANDIDATES
    assert [int(pairs.wording[pairs.question == row][0]) for row in (0, 1)] == [0, 3]
    first = pairs.cosine[pairs.question == 0]
    assert torch.equal(first, first.sort(descending=True).values)


def test_wordings_that_are_not_active_take_nobodys_place(reader: Reader) -> None:
    wordings = store(reader, *["What is the capital of Peru?"] * 20, "Peru's capital?")
    active = torch.zeros(21, dtype=torch.bool)
    active[20] = True
    pairs = find_candidates(read(reader, "capital of Peru"), wordings, active[None])
    assert pairs.wording.tolist() == [20]


def test_other_numbers_and_other_known_subjects_are_never_judged(reader: Reader) -> None:
    questions = read(reader, "Who leads project 7?", "What is the capital of Chile?", "Who wrote Hamlet?")
    wordings = store(
        reader, "Who leads project 8?", "What is the capital of Peru?", "Who is the author of Hamlet?"
    )
    pairs = find_candidates(questions, wordings)
    assert list(zip(pairs.question.tolist(), pairs.wording.tolist(), strict=True)) == [(2, 2)]


def test_a_question_about_a_known_subject_is_not_judged_with_an_unknown_name(reader: Reader) -> None:
    sweden, genovia = "Which countries border Sweden?", "Which countries border Genovia?"
    assert not len(find_candidates(read(reader, sweden), store(reader, genovia)).question)
    assert len(find_candidates(read(reader, genovia), store(reader, sweden)).question)


def test_subjects_that_a_question_and_a_wording_may_share() -> None:
    far_from_3, far_from_4 = far(torch.tensor([3, 4])).tolist()
    wordings = torch.tensor([3, 4, UNKNOWN, far_from_3, far_from_4])
    for question, shared in (
        (3, [True, False, True, True, False]),
        (far_from_3, [True] * 5),
        (UNKNOWN, [True] * 5),
    ):
        assert may_share(torch.tensor(question), wordings).tolist() == shared


def test_far_questions_are_no_candidates(reader: Reader) -> None:
    pairs = find_candidates(
        read(reader, "What is the boiling point of water?"), store(reader, "Who leads project X?")
    )
    assert len(pairs.question) == 0


def test_of_many_that_resemble_each_other_the_very_nearest_are_kept(reader: Reader) -> None:
    names = [f"Who leads the project of {first}{second}andor?" for first in "bdfgklmn" for second in "aeiouy"]
    questions = read(reader, "Who leads the project of Kelandor now?", names[7])
    wordings = store(reader, *names)
    pairs = find_candidates(questions, wordings, min_cosine=0.0)
    for row in (0, 1):
        exact = dequantize(wordings.codes) @ questions.vectors[row]
        nearest = exact.sort(descending=True).indices[:MAX_CANDIDATES].tolist()
        assert pairs.wording[pairs.question == row].tolist() == nearest


@pytest.mark.parametrize("at_once", [1, 2**20])
def test_a_near_pair_is_off_by_no_more_than_its_error(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(readings_module, "PRODUCTS_AT_ONCE", at_once)
    texts = [item.relation.question(item.subject.label) for item in list(Pack.load().items())[::200]]
    questions, wordings = read(reader, *texts[::2]), store(reader, *texts)
    question, row, near = wordings.near(questions.vectors, -1.0)
    assert len(near) == len(questions) * len(wordings)
    assert question.tolist() == sorted(question.tolist())
    exact = wordings.cosines(questions.vectors, question, row)
    assert float((near - exact).abs().max()) <= NEAR_ERROR
    above = (exact >= 0.6).nonzero().squeeze(1).tolist()
    near_pairs = set(
        zip(*(column.tolist() for column in wordings.near(questions.vectors, 0.6)[:2]), strict=True)
    )
    assert {(int(question[pair]), int(row[pair])) for pair in above} <= near_pairs


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge.load(MiniLM())


def compare(judge: Judge, first: str, second: str) -> dict[str, float]:
    pair = judge.tokens(first), judge.tokens(second)
    rows = judge.contrast([pair, pair[::-1]])
    assert torch.equal(rows[0], rows[1]), "the order of the texts makes no difference"
    return dict(zip(SIGNS, rows[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("first", "second", "pieces", "frame"),
    [
        ("Who is the mayor of Ostervik?", "Who is the mayor of Ostervoll?", True, True),
        ("Who is the mayor of Sheffield?", "Who is the mayor of Leeds?", False, True),
        ("Who is the mayor of Ostervik?", "Ostervik's mayor, who is it?", False, False),
        ("Who is the mayor of Ostervik?", "Is it Brunhildur Askelsdottir who runs the town?", True, False),
        ("Who is the mayor of Ostervik?", "Who is the mayor of Ostervik?", False, False),
        ("Who is the mayor of Ostervik?", "Who is the mayor of Ostervik now?", False, False),
        ("When does it open on Monday?", "When does it open on Tuesday?", False, True),
    ],
)
def test_words_of_several_pieces_and_frames(
    judge: Judge, first: str, second: str, pieces: bool, frame: bool
) -> None:
    signs = compare(judge, first, second)
    assert (signs["words of several pieces"], signs["one frame"]) == (pieces, frame)


@pytest.mark.parametrize(
    ("first", "second", "sign", "low", "high"),
    [
        ("Who is the mayor of Sheffield?", "Who is the mayor of Bedford?", "names", 0.9, 1),
        ("Who is the mayor of Sheffield?", "Who runs the town of Sheffield?", "names", 0, 0.1),
        ("Who is the wife of Anna Berg?", "Anna Lind has which wife?", "parts of names", 0.9, 1),
        ("Who is the mayor of Sheffield?", "Who is the mayor of Bedford?", "parts of names", 0, 0.1),
        ("Who is the mayor of Bexton?", "Who is the mayor of Bexton Harbour?", "a name in one", 0.8, 1),
        ("Who runs Bexton Museum?", "Bexton Museum: who is its boss?", "least of a name in common", 0.9, 1),
        ("Who runs Sheffield?", "Who runs Bedford?", "most of a name in common", 0, 0.1),
        ("Who runs Brinwick?", "Who runs Brinwik?", "spelling", 0.5, 1),
    ],
)
def test_names_of_one_text(judge: Judge, first: str, second: str, sign: str, low: float, high: float) -> None:
    assert low <= compare(judge, first, second)[sign] <= high


def test_what_other_names_say(judge: Judge) -> None:
    """The learned numbers make a pair less likely the more its names differ."""
    pairs = [("Who is the wife of Anna Berg?", f"Who is {name} married to?") for name in NAMES]
    signs = judge.contrast([(judge.tokens(first), judge.tokens(second)) for first, second in pairs])
    same, other_last, other = judge.calibration.weigh(signs).tolist()
    assert same > other_last + 1
    assert same > other + 1


NAMES = ("Anna Berg", "Anna Lind", "Tom Lind")


def test_nothing_is_said_without_pairs_and_words(judge: Judge) -> None:
    assert judge.contrast([]).shape == (0, len(SIGNS))
    assert compare(judge, "", "Who?")["names"] == 0
    assert compare(judge, "", "")["names"] == 0


def test_without_learned_numbers_no_word_is_of_a_name() -> None:
    encoder = MiniLM()
    reader = WordReader(encoder.tokenizer, encoder.words, NO_NAMES)
    tokens = [Judge.load(encoder).tokens(f"Who runs {name}?") for name in ("Sheffield", "Bedford")]
    assert set(reader.read(tokens[0]).names) == {0.0}
    signs = dict(zip(SIGNS, Contrast(reader)([(tokens[0], tokens[1])])[0].tolist(), strict=True))
    assert signs["names"] == 0


def draw_vectors(count: int, n_strong: int, seed: int) -> Tensor:
    """Draw unit vectors of which some axes hold most."""
    strengths = torch.full((WIDTH,), 0.1)
    strengths[:n_strong] = 1.0
    vectors = torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(seed)) * strengths
    return torch.nn.functional.normalize(vectors, dim=-1)


@pytest.mark.parametrize("n_strong", [1, 20, 120, WIDTH])
def test_no_cosine_exceeds_its_bound(n_strong: int) -> None:
    rows, questions = draw_vectors(500, n_strong, 1), draw_vectors(50, n_strong, 2)
    sketch = Sketch.allocate(rows[:100], 400)
    sketch.write(0, rows[:300])
    sketch = sketch.enlarge(300, 600)
    sketch.write(300, rows[300:])
    questions = torch.cat([questions, rows[:50], torch.eye(WIDTH)[:3]])
    bounds = sketch.truncate(500).bounds(questions).float()
    assert (questions @ rows.T <= bounds + BOUND_ERROR).all()
    if n_strong < WIDTH:
        assert (bounds - questions @ rows.T).median() < 0.5, "a bound excludes nothing otherwise"


def test_what_is_near_is_the_same_with_bounds_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings_module, "COMPARED_AT_ONCE", 7)
    codes = quantize(draw_vectors(2_000, 30, 3))
    marks = torch.zeros(3, 2_000, dtype=torch.int64)
    scales = scales_of(codes)
    sketch = Sketch.allocate(dequantize(codes), 2_000)
    sketch.write(0, dequantize(codes))
    questions = torch.cat([draw_vectors(20, 30, 4), dequantize(codes[:5])])
    exact = questions @ dequantize(codes).T
    question, row, near = StoredReadings([], codes, scales, *marks, sketch=sketch).near(questions, 0.55)
    assert question.tolist() == sorted(question.tolist())
    pairs = set(zip(question.tolist(), row.tolist(), strict=True))
    assert set(map(tuple, (exact >= 0.55).nonzero().tolist())) <= pairs
    assert (exact[question, row] >= 0.55 - 2 * NEAR_ERROR).all()
    assert (near - exact[question, row]).abs().max() <= NEAR_ERROR


def test_a_table_with_bounds_finds_the_candidates_of_one_without(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table grows past the number of rows from which it has bounds, and an old view stays as it was."""
    names = [f"{first}{second}andor" for first in "bdfgklmn" for second in "aeiou"]
    edits = [block(reader, name, place, f"Who leads {name.title()}?") for place, name in enumerate(names, 1)]
    questions = reader.read(
        ["Who is the head of Kelandor?", "Who leads Belandor?", "Who wrote Hamlet?"]
    ).readings
    plain = [table(reader).view(edits[:count]) for count in (30, 40)]
    monkeypatch.setattr(wording_table, "SKETCHED_FROM", 16)
    monkeypatch.setattr(wording_table, "SKETCHED_AT_ONCE", 7)
    monkeypatch.setattr(readings_module, "MAX_SHARE", 1.0)
    shared = table(reader)
    assert shared.view(edits[:10]).table.sketch is None
    with_bounds = [shared.view(edits[:count]) for count in (30, 40)]
    for before, after in zip(plain, with_bounds, strict=True):
        assert after.table.sketch is not None
        expected, actual = (
            find_candidates(questions, view.table, view.is_read[None]) for view in (before, after)
        )
        assert len(expected.question)
        for name in ("question", "wording", "cosine"):
            assert torch.equal(getattr(actual, name), getattr(expected, name))
