"""The exam: all questions of written passages and documents that training has not read."""

from collections.abc import Mapping, Sequence

from models.reading.reader import Reader
from models.training.ernie_doc.texts import Split, Text, read_texts
from models.training.reading.outcomes import Outcome
from models.training.reading.plan import FOLDER


def exam_texts(split: Split) -> Mapping[str, Sequence[Text]]:
    """Return the texts of a split by their hand."""
    return {"documents": read_texts(split)} | {
        f"passages {path.stem}": read_texts(split, FOLDER, path.name)
        for path in sorted(FOLDER.glob("*.jsonl"))
    }


def examine(reader: Reader, texts: Sequence[Text]) -> list[Outcome]:
    """Ask all questions of all texts."""
    return [
        Outcome(question, finding.spans, finding.n_windows)
        for text in texts
        for question in text.questions
        for finding in [reader.find(question.text, text.text)]
    ]
