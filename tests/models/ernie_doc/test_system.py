"""A document is answered from with a span of its text; a decline has its reason."""

from pathlib import Path
from typing import Any

import pytest
import torch

from models.documents.document import Document
from models.documents.memory import DOCUMENTS
from models.ernie_doc.checkpoint import save
from models.ernie_doc.system import ErnieDocSystem, load
from models.kit.checkpoint import CheckpointError
from models.memory import Views
from models.system import AnswerDelta, Ask, Bundle, Reply
from tests.models.ernie_doc.tiny import SETTINGS, Counter, text, tiny_reader, write_checkpoint

CPU = torch.device("cpu")
QUESTION = "when was it built?"


def load_tiny(folder: Path, threshold: float = 0.0) -> Bundle:
    return load(CPU, torch.float32, write_checkpoint(folder, threshold))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return load_tiny(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def system(bundle: Bundle) -> ErnieDocSystem:
    assert isinstance(bundle.system, ErnieDocSystem)
    return bundle.system


def view(**texts: str) -> Views:
    documents = {
        id: Document(content, f"Title of {id}", "text/plain", (f"e-{id}",)) for id, content in texts.items()
    }
    return {DOCUMENTS: documents}


def reply(system: ErnieDocSystem, views: Views, document: str | None = "mill", **fields: Any) -> Reply:
    [result] = system.answer([Ask(QUESTION, document=document, **fields)], [views])
    return result


def test_the_answer_is_a_span_of_the_document_with_the_passage_around_it(system: ErnieDocSystem) -> None:
    content = "\n".join(text(40, seed) for seed in range(3))
    views = view(mill=content, hill=text(40, 9))
    result = reply(system, views, explain=True)
    assert result.answer is not None
    assert (result.edits, result.reason, 0 <= result.score <= 1) == (("e-mill",), None, True)
    explanation: Any = result.explanation
    document = views[DOCUMENTS]["mill"]
    names = {"id": "mill", "title": "Title of mill", "digest": document.digest, "edits": ["e-mill"]}
    sizes = {"characters": len(content), "tokens": 120, "windows": 15}
    assert explanation["document"] == names | sizes
    assert explanation["spans"][0]["text"] == result.answer
    for span in explanation["spans"]:
        passage = span["passage"]
        assert content[span["start"] : span["end"]] == span["text"]
        assert content[passage["start"] : passage["end"]] == passage["text"]
        assert span["text"] in passage["text"]
        assert "\n" not in passage["text"].replace(span["text"], "")


def test_a_context_is_read_like_a_document(system: ErnieDocSystem) -> None:
    content = text(60)
    from_document = reply(system, view(mill=content))
    from_context = reply(system, view(), document=None, context=content)
    assert (from_context.answer, from_context.score) == (from_document.answer, from_document.score)
    assert from_context.edits == ()


def test_a_document_that_does_not_say_is_declined_with_the_best_guess(tmp_path: Path) -> None:
    system = load_tiny(tmp_path, threshold=1.1).system
    assert isinstance(system, ErnieDocSystem)
    result = reply(system, view(mill=text(40)))
    assert (result.answer, result.reason, result.edits) == (None, "not_said", ("e-mill",))
    assert result.best in text(40)


def test_a_million_letters_without_a_space_have_no_answer(system: ErnieDocSystem) -> None:
    result = reply(system, view(mill="a" * 1_000_000))
    assert (result.answer, result.best, result.reason) == (None, "", "not_said")


def test_a_reading_yields_after_each_window_and_tells_how_far_it_is(system: ErnieDocSystem) -> None:
    ask, views = Ask(QUESTION, document="mill"), view(mill=text(60, 3))
    *steps, result = system.answer_in_steps(ask, views)
    assert steps == [None] * 16
    *deltas, last_item = system.stream(ask, views)
    assert result == last_item == reply(system, views)
    progress = [delta.progress for delta in deltas if isinstance(delta, AnswerDelta) and delta.progress]
    reading = [{"phase": "reading", "done": done, "total": 7} for done in range(8)]
    assert progress == reading + [{"phase": "asking", "done": done, "total": 8} for done in range(1, 9)]


def test_a_text_is_read_once_for_all_ids_versions_and_questions(tmp_path: Path) -> None:
    system = load_tiny(tmp_path).system
    assert isinstance(system, ErnieDocSystem)
    counter, content = Counter(system.reader), text(40, 4)
    n_windows = len(system.reader.packing.windows(40))
    first = reply(system, view(mill=content))
    assert counter.take() == 2 * n_windows - 1
    again = reply(system, view(hill=content), document="hill")
    n_kept = (n_windows - 1) // 2
    assert counter.take() == 2 * n_windows - 1 - n_kept
    assert (again.answer, again.score) == (first.answer, first.score)


def test_a_corrected_text_is_read_from_the_last_state_before_the_change(tmp_path: Path) -> None:
    system = load_tiny(tmp_path).system
    assert isinstance(system, ErnieDocSystem)
    content = text(80, 5)
    new_text = f"{content[:-40]} in 1904 {content[-40:]}"
    reply(system, view(mill=content))
    counter = Counter(system.reader)
    result = reply(system, view(mill=new_text))
    n_windows = len(system.reader.packing.windows(82))
    assert counter.take() < 2 * n_windows - 2
    fresh = load_tiny(tmp_path / "fresh").system
    assert isinstance(fresh, ErnieDocSystem)
    assert result == reply(fresh, view(mill=new_text))


def test_a_model_without_settings_of_reading_is_refused(tmp_path: Path) -> None:
    save(tiny_reader().model, tmp_path)
    with pytest.raises(CheckpointError, match="does not say how it reads documents"):
        load(CPU, torch.float32, tmp_path)


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    save(tiny_reader(vocab=40).model, tmp_path, settings=SETTINGS)
    with pytest.raises(CheckpointError, match="has 40 words and MiniLM's tokenizer 30,522"):
        load(CPU, torch.float32, tmp_path)
