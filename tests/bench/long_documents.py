"""What ERNIE-Doc's reading of a long document costs: by its length, after a change, and in memory.

The weights are random and small; costs do not depend on what was learned. `python -m tests.bench long`.
"""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from tokenizers import Tokenizer

from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.loading.checkpoint import Checkpoint
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.answer import AnswerRule, answer
from models.ernie_doc.reading.choosing import MOST_WINDOWS, Chooser
from models.ernie_doc.reading.document import Document, tokenize
from models.ernie_doc.reading.packing import Packing
from models.ernie_doc.reading.reader import Reader
from models.ernie_doc.reading.spans import SpanRule
from models.ernie_doc.reading.store import RecentStates, StateStore
from models.ernie_doc.system import EVERY as STATES_EVERY
from models.ernie_doc.system import STATE_BYTES
from models.training.ernie_doc.plan import DEFAULT
from tests.bench.table import Row

SHORT, MIDDLE, LONG = 10_000, 20_000, 100_000  # tokens
SEGMENT, MEMORY, ROOM, OVERLAP = 128, 128, 32, 16
SENTENCE = (
    "The pump by the river was built in March , after the flood of 1958 had left sand in the lower tank . "
)
QUESTION, SECOND_QUESTION = "When was the pump by the river built?", "What did the flood leave?"
STORE_BYTES, EVERY = 2**30, 8
CONFIG = ErnieDocConfig(
    vocab=30522,
    width=128,
    layers=4,
    heads=4,
    inner=512,
    segment=SEGMENT,
    memory=MEMORY,
    position_rows=2 * SEGMENT + MEMORY,
    task_types=3,
    epsilon=1e-12,
    embedding_epsilon=1e-5,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    inner_dropout=0.0,
    skips_padding=True,
)


def rows() -> Iterator[Row]:
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    tokenizer = find().tokenizer()
    tokenizer.no_padding()
    tokenizer.no_truncation()
    torch.manual_seed(0)
    packing = Packing.of(tokenizer, SEGMENT, ROOM, OVERLAP)
    checkpoint = Checkpoint(ErnieDoc(CONFIG).eval().requires_grad_(False), "bench")
    yield from _length(Reader(checkpoint, packing), tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        yield from _changes(
            Reader(checkpoint, packing, StateStore(Path(folder), STORE_BYTES), EVERY), tokenizer
        )
    model = ErnieDoc(DEFAULT.model).eval().requires_grad_(False)
    packing = Packing.of(tokenizer, DEFAULT.model.segment, DEFAULT.question_room, DEFAULT.overlap)
    yield from _questions(
        Reader(Checkpoint(model, "bench"), packing, RecentStates(STATE_BYTES), STATES_EVERY), tokenizer
    )
    torch.set_num_threads(n_threads)


def _length(reader: Reader, tokenizer: Tokenizer) -> Iterator[Row]:
    reader.last(write(SHORT // 10, tokenizer))  # warm
    short_s = seconds(lambda: reader.last(write(SHORT, tokenizer)))
    short_mb = peak_mb()
    long_s = seconds(lambda: reader.last(write(LONG, tokenizer)))
    note = (
        f"{long_s:.1f} s against {short_s:.1f} s; {LONG / long_s:,.0f} tokens a second, tokenizing included"
    )
    yield Row("reading 100,000 tokens against 10,000", long_s / short_s, "<= 11", note)
    yield Row("memory that reading 100,000 tokens adds to 10,000", peak_mb() - short_mb, "", "MB at the peak")


def _changes(reader: Reader, tokenizer: Tokenizer) -> Iterator[Row]:
    document = write(LONG, tokenizer)
    first_s = seconds(lambda: reader.last(document))
    text = document.text + SENTENCE
    append_s = seconds(lambda: reader.last(tokenize(text, tokenizer, 2 * LONG)))
    note = f"{1e3 * append_s:.0f} ms, most of them tokenizing; a state of every {EVERY} segments is kept"
    yield Row(
        "a sentence appended to 100,000 tokens, against reading all", append_s / first_s, "<= 0.1", note
    )


def _questions(reader: Reader, tokenizer: Tokenizer) -> Iterator[Row]:
    document, chooser = write(MIDDLE, tokenizer), Chooser(MiniLM())
    rule = AnswerRule(SpanRule(16, 5, "margin"), 1, MOST_WINDOWS)
    first_s, second_s = (
        seconds(lambda question=question: answer(reader, chooser, document, question, tokenizer, rule))  # type: ignore[misc]
        for question in (QUESTION, SECOND_QUESTION)
    )
    note = f"{second_s:.2f} s against {first_s:.1f} s; {MOST_WINDOWS} windows are asked"
    yield Row("a second question to 20,000 tokens, of the first", second_s / first_s, "<= 0.05", note)


def write(n_tokens: int, tokenizer: Tokenizer) -> Document:
    per_sentence = len(tokenizer.encode(SENTENCE, add_special_tokens=False).ids)
    return tokenize(SENTENCE * (n_tokens // per_sentence), tokenizer, 2 * LONG)


def peak_mb() -> float:
    """Return the process's peak memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of one thread, which others on the machine do not stretch."""
    start = time.process_time()
    run()
    return time.process_time() - start
