"""Which wordings a question is judged with: the nearest ones, none that names another number or known subject."""

import torch

from models.nkb.reader import Reader
from models.scope.candidates import MAX_CANDIDATES, find_candidates
from models.scope.readings import Readings, StoredReadings


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
    pairs = find_candidates(read(reader, "capital of Peru"), wordings, active)
    assert pairs.wording.tolist() == [20]


def test_other_numbers_and_other_known_subjects_are_never_judged(reader: Reader) -> None:
    questions = read(reader, "Who leads project 7?", "What is the capital of Chile?", "Who wrote Hamlet?")
    wordings = store(
        reader, "Who leads project 8?", "What is the capital of Peru?", "Who is the author of Hamlet?"
    )
    pairs = find_candidates(questions, wordings)
    assert list(zip(pairs.question.tolist(), pairs.wording.tolist(), strict=True)) == [(2, 2)]


def test_far_questions_are_no_candidates(reader: Reader) -> None:
    pairs = find_candidates(
        read(reader, "What is the boiling point of water?"), store(reader, "Who leads project X?")
    )
    assert len(pairs.question) == 0
