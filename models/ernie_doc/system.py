"""`ernie-doc`: answers from a document that a curator has put, or from a context, with a span of its text or a label.

Ding et al., ERNIE-Doc (arXiv:2012.15688), as `reader.py` reads it. Its memory is the documents themselves
(models/documents), so that an edit is a text; the weights never change. A text is read once for all questions and all
versions that have it, for its states are found by its digest.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch
from more_itertools import unique_everseen
from tokenizers import Tokenizer

from models.documents.document import Document
from models.documents.memory import DOCUMENTS, DocumentsView, Texts
from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.ernie_doc.answer import MOST_WINDOWS, Answer, AnswerRule, Progress, Second, answer_in_steps
from models.ernie_doc.checkpoint import Checkpoint, Settings
from models.ernie_doc.checkpoint import load as load_checkpoint
from models.ernie_doc.cost import cost
from models.ernie_doc.explain import describe_document, explain
from models.ernie_doc.labelling import PAIR_SHARE, rate_answers
from models.ernie_doc.reader import Packing, Reader
from models.ernie_doc.state import recent_states
from models.ernie_doc.windows import Chooser
from models.kit.batching import Cache
from models.kit.checkpoint import ADVICE, CheckpointError
from models.kit.replies import decline, reply
from models.memory import Views
from models.reading.checkpoint import load as load_reader
from models.reading.confidence import NO_SCALE, rate
from models.reading.document import Document as Tokens
from models.reading.document import DocumentRefused, tokenize
from models.reading.spans import SpanRule
from models.system import AnswerDelta, Ask, Bundle, Input, Probes, Reason, Reply

DEFAULT = Path(__file__).parents[1] / "checkpoints" / "ernie-doc"
N_BEST = 10  # spans that are kept of a document; a question asks for ten answers at the most
# Windows that are read at once: on a processor two are no quicker than one and one.
BATCH = {"cpu": 1, "cuda": 32}
STATE_BYTES = 256 * 2**20  # bytes of the states of all documents in memory
EVERY = 2  # segments for each state that is kept
MAX_TOKENS = 400_000  # tokens of a document
CACHED_TOKENS = 1_000_000  # tokens of all documents that are kept, 32 bytes each

NO_DOCUMENT = Reason("no_document", "The question names no document, and gives no context to read.")
TWO_TEXTS = Reason("two_texts", "The question names a document and gives a context: leave one of them out.")
NOT_SAID = Reason("not_said", "The document does not say.")
NO_CANDIDATES = Reason("no_candidates", "This model chooses among answers: give `candidates`.")

Steps: TypeAlias = Iterator[Progress | Reply]
"""Progress after each window, and last the reply."""


class ErnieDocSystem:
    """A checkpoint that was trained to answer, reading documents by a tokenizer without truncation. Thread-safe."""

    name = "ernie-doc"
    memories = (DOCUMENTS,)
    cost = staticmethod(cost)
    probes = Probes()

    def __init__(
        self, checkpoint: Checkpoint, settings: Settings, tokenizer: Tokenizer, encoder: MiniLM
    ) -> None:
        config = checkpoint.model.config
        inputs: tuple[Input, ...] = ("document", "context", *(("candidates",) if config.classes else ()))
        self.inputs: frozenset[Input] = frozenset(inputs)
        packing = Packing.of(
            tokenizer, config.segment, settings.question_room, settings.overlap, config.points
        )
        self.reader = Reader(checkpoint, packing, recent_states(STATE_BYTES), EVERY)
        self._checkpoint, self._settings, self._tokenizer = checkpoint, settings, tokenizer
        spans = SpanRule(settings.longest, N_BEST)
        share, device = settings.reader_share, self.reader.device
        second = Second(load_reader(device=device), share) if share else None
        self.rule = AnswerRule(spans, BATCH[device.type], MOST_WINDOWS, second=second)
        self._chooser = Chooser(encoder)
        self._tokens = Cache[str, Tokens](CACHED_TOKENS, len)

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        """Answer one after the other: each reads its own document."""
        return [self._finish(ask, view) for ask, view in zip(asks, views, strict=True)]

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        """Yield None after each window, or after a few chunks or windows that are read at once; last the reply."""
        for step in self._read(ask, views[DOCUMENTS]):
            yield step if isinstance(step, Reply) else None

    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        """Tell how much of the document is read, then the answer."""
        for step in self._read(ask, views[DOCUMENTS]):
            if isinstance(step, Reply):
                if step.answer is not None:
                    yield AnswerDelta(step.answer)
                yield step
            else:
                yield AnswerDelta(progress=step._asdict())

    def describe(self) -> Mapping[str, Any]:
        """Return sizes, checkpoint, engine and device."""
        config = self._checkpoint.model.config
        return {
            "checkpoint": self._checkpoint.digest,
            "engine": "torch",
            "device": str(self.reader.device),
            "layers": config.layers,
            "width": config.width,
            "segment": config.segment,
            "memory": config.memory,
            "window": self.reader.packing.window,
            "reads": sorted(self.inputs),
            "asked_windows": self.rule.most_windows,
            "longest_document": MAX_TOKENS,
            "unsure_below": self._settings.confidence.threshold,
            **({"classes": config.classes, "labels": self._checkpoint.labels} if config.classes else {}),
        }

    def _finish(self, ask: Ask, views: Views) -> Reply:
        *_, reply = self._read(ask, views[DOCUMENTS])
        assert isinstance(reply, Reply)
        return reply

    def _read(self, ask: Ask, documents: DocumentsView) -> Steps:
        document = find_text(ask, documents)
        if isinstance(document, Reason):
            yield decline(document)
            return
        try:
            tokens = self._tokenize(document)
            if self._checkpoint.model.config.classes:
                yield from self._label(ask, document, tokens)
                return
            for step in answer_in_steps(
                self.reader, self._chooser, tokens, ask.question, self._tokenizer, self.rule
            ):
                yield step if isinstance(step, Progress) else self._reply(ask, document, tokens, step)
        except DocumentRefused as cause:
            sentence = f"{str(cause)[:1].upper()}{str(cause)[1:]}."
            yield decline(Reason("unreadable", sentence), document.edits)

    def _label(self, ask: Ask, document: Document, tokens: Tokens) -> Steps:
        answers = find_answers(ask, self._checkpoint)
        if isinstance(answers, Reason):
            yield decline(answers, document.edits)
            return
        for step in rate_answers(self.reader, tokens, ask.question, answers, self._tokenizer):
            if isinstance(step, Progress):
                n_windows = step.done
                yield step
                continue
            pairs = [
                pair for pair in zip(step, answers, strict=True) if pair[1] in (ask.candidates or answers)
            ]
            ranking = [(answer, score) for score, answer in sorted(pairs, reverse=True)]
            explanation = {
                "document": describe_document(ask.document, document, n_windows, len(tokens)),
                "labels": [{"answer": answer, "score": score} for answer, score in ranking],
            }
            yield reply(
                *ranking[0],
                None,
                document.edits,
                ranking[1 : ask.top_k],
                explanation=explanation if ask.explain else None,
            )

    def _tokenize(self, document: Document) -> Tokens:
        texts = {document.digest: document.text}
        tokens = self._tokens.of(texts, lambda _: [tokenize(document.text, self._tokenizer, MAX_TOKENS)])
        return tokens[document.digest]

    def _reply(self, ask: Ask, document: Document, tokens: Tokens, result: Answer) -> Reply:
        n_windows = len(self.reader.packing.windows(len(tokens)))
        spans = list(unique_everseen(result.spans, key=lambda span: span.text))
        scores = rate(spans, len(result.choice.numbers), self._settings.confidence)
        is_sure = bool(spans) and scores[0] >= self._settings.confidence.threshold
        explanation = (
            explain(ask.document, document, spans, scores, result.choice, n_windows, len(tokens))
            if ask.explain
            else None
        )
        return reply(
            spans[0].text if spans else "",
            scores[0] if spans else 0.0,
            None if is_sure else NOT_SAID,
            document.edits,
            list(zip([span.text for span in spans], scores, strict=True))[1 : ask.top_k],
            truncated=result.is_question_cut,
            explanation=explanation,
            place=(spans[0].start, spans[0].end) if is_sure else None,
        )


def find_text(ask: Ask, documents: DocumentsView) -> Document | Reason:
    """Return the text to answer the question from, or the reason why there is none."""
    if ask.document is None and ask.context is None:
        return NO_DOCUMENT
    if ask.document is not None and ask.context is not None:
        return TWO_TEXTS
    if ask.document is None:
        return Document(ask.context or "", "", "text/plain", ())
    unknown = Reason("unknown_document", f"There is no document {ask.document!r} at this version.")
    return documents.get(ask.document, unknown)


def find_answers(ask: Ask, checkpoint: Checkpoint) -> Sequence[str] | Reason:
    """Return the answers that a model with labels rates, or the reason why it rates none."""
    classes, labels = checkpoint.model.config.classes, checkpoint.labels
    if not ask.candidates:
        return labels or NO_CANDIDATES
    if labels:
        for text in ask.candidates:
            if text not in labels:
                names = ", ".join(labels)
                return Reason("unknown_label", f"The model has no label {text!r}; its labels are {names}.")
        return labels
    if classes not in (1, len(ask.candidates)):
        sentence = (
            f"The {classes} labels of the model have no names: give {classes} `candidates`, in their order."
        )
        return Reason("unknown_label", sentence)
    return ask.candidates


def load(device: torch.device, dtype: torch.dtype, folder: Path = DEFAULT) -> Bundle:
    """Load the checkpoint in a folder.

    Raises:
        CheckpointError: It is not there, damaged, or was not trained to answer from documents.
        EncoderNotFound: MiniLM's tokenizer is not there.
    """
    checkpoint = load_checkpoint(folder, device, dtype)
    tokenizer, config = checkpoint.tokenizer or find().tokenizer(), checkpoint.model.config
    settings = checkpoint.settings
    if config.classes:  # such a model has no spans, and nothing has calibrated its head
        settings = Settings(config.segment // PAIR_SHARE, 0, 1, NO_SCALE)
    if settings is None:
        raise CheckpointError(
            f"{folder} does not say how it reads documents, as a model without a head for answers: {ADVICE}"
        )
    if config.vocab < tokenizer.get_vocab_size() or (
        checkpoint.tokenizer is None and config.vocab != tokenizer.get_vocab_size()
    ):
        owner = "its" if checkpoint.tokenizer else "MiniLM's"
        raise CheckpointError(
            f"{folder} has {config.vocab:,} words and {owner} tokenizer {tokenizer.get_vocab_size():,}: {ADVICE}"
        )
    return Bundle(ErnieDocSystem(checkpoint, settings, tokenizer, MiniLM.load(device)), (Texts(),))
