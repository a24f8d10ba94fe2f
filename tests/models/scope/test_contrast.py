"""Two questions are compared by their words: which are of names, what each lacks, and what that says."""

import pytest
import torch

from models.encoder.minilm import MiniLM
from models.scope.judge import Judge
from models.scope.wordings.contrast import SIGNS, Contrast
from models.scope.wordings.names import NO_NAMES, WordReader


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
