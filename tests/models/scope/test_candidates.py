"""A question is judged with the nearest wordings, none of which names another number or known subject."""

import pytest
import torch

from models.nkb.reader import Reader
from models.packs.pack import Pack
from models.scope import readings as readings_module
from models.scope.candidates import MAX_CANDIDATES, find_candidates
from models.scope.readings import NEAR_ERROR, UNKNOWN, Readings, StoredReadings, dequantize, far, may_share


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
