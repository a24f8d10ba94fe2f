"""A model with the head for sequence classification answers with labels, or with one of a request's answers."""

from pathlib import Path
from typing import Any

import pytest
import torch

from models.contract import check_contract, check_reply
from models.ernie_doc.checkpoint import load as load_checkpoint
from models.ernie_doc.labelling import pack_alone, pack_pairs
from models.ernie_doc.memory import start_memory
from models.ernie_doc.paddle import convert
from models.ernie_doc.system import load
from models.kit.checkpoint import CheckpointError
from models.system import Ask, Bundle, Reply
from tests.models.ernie_doc.loading_files import write_paddle
from tests.models.ernie_doc.test_system import CPU, reply, view
from tests.models.ernie_doc.tiny import SEGMENT, document, packing, text, tiny_model, tokenizer

LABELS = ("praise", "blame", "neither")
WORDS = {"vocab": 30522, "segment": SEGMENT, "position_rows": 2 * SEGMENT + 4, "inner": 64}


def load_converted(folder: Path, labels: tuple[str, ...] = (), **sizes: Any) -> Bundle:
    torch.manual_seed(5)
    convert(write_paddle(tiny_model(**(WORDS | sizes)), folder), folder / "ours", labels)
    return load(CPU, torch.float32, folder / "ours")


def label(bundle: Bundle, content: str, **fields: Any) -> Reply:
    return reply(bundle.system, view(mill=content), explain=True, **fields)  # type: ignore[arg-type]


def scores_of(result: Reply) -> dict[str, float]:
    return {result.best: result.score} | {other.answer: other.score for other in result.alternatives}


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_head_of_any_number_of_labels_is_converted_and_kept(tmp_path: Path, classes: int) -> None:
    model = tiny_model(**WORDS, classes=classes)
    report = convert(write_paddle(model, tmp_path), tmp_path / "ours")
    assert (report.ignored, report.missing) == ((), ())
    copy = load_checkpoint(tmp_path / "ours").model
    segments, memory = pack_alone(packing(), document(text(9)).ids), start_memory(model.config, 1)
    pooled = model(*segments, memory).pooled
    assert copy.config == model.config
    assert copy.class_logits(copy(*segments, memory).pooled).equal(model.class_logits(pooled))
    assert model.class_logits(pooled).shape == (1, classes)


def test_a_document_has_the_mean_of_its_windows_and_memory_between_them(tmp_path: Path) -> None:
    bundle = load_converted(tmp_path, LABELS, classes=3)
    check_reply(check_contract(bundle, "ernie-doc"))
    model, content = load_checkpoint(tmp_path / "ours").model, text(30, 2)
    ids, memory, total = document(content).ids, start_memory(model.config, 1), torch.zeros(3)
    starts = range(0, len(ids) - (SEGMENT - 2) + model.config.memory, model.config.memory)
    for start in starts:
        row = [*ids[start : start + SEGMENT - 2].tolist(), packing().sep]
        room = SEGMENT - len(row) - 1
        segment = torch.tensor([[*row, *[packing().pad] * room, packing().cls]])
        mask = torch.tensor([[1.0] * len(row) + [0.0] * room + [1.0]])
        reading = model(segment, torch.zeros_like(segment), mask, memory)
        total += torch.softmax(model.class_logits(reading.pooled)[0], 0)
        memory = reading.memory
    result = label(bundle, content, top_k=3)
    scores = scores_of(result)
    expected = dict(zip(LABELS, (total / len(starts)).tolist(), strict=True))
    assert scores == pytest.approx(expected, abs=1e-6)
    assert (result.answer, result.edits) == (max(expected, key=expected.__getitem__), ("e-mill",))
    assert result.explanation is not None
    assert result.explanation["document"]["windows"] == len(starts)
    assert [row["answer"] for row in result.explanation["labels"]] == list(scores)


@pytest.mark.parametrize(
    ("labels", "candidates", "reason", "sentence"),
    [
        (
            LABELS,
            ("praise", "joy"),
            "unknown_label",
            "The model has no label 'joy'; its labels are praise, blame",
        ),
        ((), (), "no_candidates", "This model chooses among answers: give `candidates`."),
        (
            (),
            ("praise", "blame"),
            "unknown_label",
            "The 3 labels of the model have no names: give 3 `candidates`",
        ),
    ],
)
def test_candidates_that_are_no_labels_are_declined_in_words(
    tmp_path: Path, labels: tuple[str, ...], candidates: tuple[str, ...], reason: str, sentence: str
) -> None:
    result = label(load_converted(tmp_path, labels, classes=3), text(12), candidates=candidates)
    assert (result.answer, result.reason) == (None, reason)
    assert result.reason is not None
    assert sentence in result.reason.sentence


def test_candidates_name_the_labels_or_are_some_of_them(tmp_path: Path) -> None:
    with_names = load_converted(tmp_path, LABELS, classes=3)
    convert(tmp_path, tmp_path / "bare")
    without = load(CPU, torch.float32, tmp_path / "bare")
    content = text(20, 4)
    whole, bare = label(with_names, content), label(without, content, candidates=LABELS)
    assert (bare.answer, bare.score) == (whole.answer, whole.score)
    rest = tuple(name for name in LABELS if name != whole.answer)
    assert label(with_names, content, candidates=rest).answer in rest


def test_a_model_of_one_label_chooses_an_answer_to_the_question(tmp_path: Path) -> None:
    bundle = load_converted(tmp_path, classes=1, pools_first=True)
    content, answers = text(40, 6), ("the old pump", "sand", "the river")
    scores = scores_of(label(bundle, content, candidates=answers, top_k=3))
    assert sum(scores.values()) == pytest.approx(1.0)
    reversal = label(bundle, content, candidates=answers[::-1], top_k=3)
    assert scores_of(reversal) == pytest.approx(scores, abs=1e-5)
    ask = Ask("who left?", context=content, candidates=answers, top_k=3)
    [other] = bundle.system.answer([ask], [view()])
    assert scores_of(other) != pytest.approx(scores, abs=1e-5)


def test_a_pair_is_laid_out_as_the_authors_do() -> None:
    window, question, answer = (document(words).ids for words in ("the old pump", "what left?", "sand"))
    segments = pack_pairs(packing(), window, question, [answer, window])
    tokens = [tokenizer().id_to_token(id) for id in segments.ids[0].tolist()]
    assert tokens[:11] == [
        "[CLS]",
        "the",
        "old",
        "pump",
        "[SEP]",
        "what",
        "left",
        "?",
        "[SEP]",
        "sand",
        "[SEP]",
    ]
    assert segments.tasks[0].tolist() == [0] * 5 + [1] * 6 + [0] * (SEGMENT - 11)
    assert segments.mask.sum(1).tolist() == [11, 13]


def test_names_have_to_be_as_many_as_the_labels(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="2 names were given for the 3 labels"):
        load_converted(tmp_path, LABELS[:2], classes=3)


def test_a_vocabulary_of_word_pieces_comes_along(tmp_path: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "old", "pump"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    bundle = load_converted(tmp_path, LABELS, classes=3, vocab=len(words))
    assert label(bundle, "The old pump by the river").answer in LABELS
