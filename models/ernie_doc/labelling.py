"""Rate answers with the authors' head for sequence classification.

A model of several labels reads a document alone, `window [SEP] padding [CLS]`, and its head reads the last state. A
model of one label rates each answer of a request, `[CLS] window [SEP] question [SEP] answer [SEP]`, and its head reads
the first state. Windows begin M tokens apart, each has the memory of the one before, and the probabilities of all of
them are averaged: the authors' way with IFLYTEK and with C3, in PaddleNLP 2.8.1.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from tokenizers import Tokenizer
from torch import Tensor

from models.ernie_doc.answer import Progress
from models.ernie_doc.memory import start_memory
from models.ernie_doc.reader import Packing, Reader, Segments
from models.reading.document import Document
from models.reading.windows import cover

ALONE_TOKENS, PAIR_TOKENS = 2, 4  # special tokens of a segment without and with a question
PAIR_SHARE = 4  # part of a segment, T / 4, that a question has, and an answer

Tokens = Int[Tensor, " token"]


def rate_answers(
    reader: Reader, document: Document, question: str, answers: Sequence[str], tokenizer: Tokenizer
) -> Iterator[Progress | list[float]]:
    """Yield the progress after each window, and last the probability of each answer."""
    config, device = reader.model.config, reader.device
    if config.classes == 1:
        limit = config.segment // PAIR_SHARE
        query, *texts = (
            torch.tensor(tokenizer.encode(text, add_special_tokens=False).ids[:limit], dtype=torch.long)
            for text in (question, *answers)
        )
        room = config.segment - PAIR_TOKENS - len(query) - max(map(len, texts))
    else:
        room = config.segment - ALONE_TOKENS
    windows = cover(len(document), room, min(config.memory, room))
    memory = start_memory(config, len(answers) if config.classes == 1 else 1, device)
    total = torch.zeros(len(answers))
    for done, (first, last) in enumerate(windows, 1):
        window = document.ids[first:last]
        segments = (
            pack_pairs(reader.packing, window, query, texts)
            if config.classes == 1
            else pack_alone(reader.packing, window)
        )
        reading = reader.read_segments(segments, memory)
        memory = reading.memory
        with torch.inference_mode():
            total += reader.model.class_logits(reading.pooled).flatten().softmax(0).cpu()
        yield Progress("reading", done, len(windows))
    yield (total / len(windows)).tolist()


def pack_alone(packing: Packing, window: Tokens) -> Segments:
    """Make a segment of a window, with [CLS] behind the padding."""
    ids = torch.full((1, packing.segment), packing.pad)
    ids[0, : len(window)], ids[0, len(window)], ids[0, -1] = window, packing.sep, packing.cls
    mask = (torch.arange(packing.segment) <= len(window)).float()[None]
    mask[0, -1] = 1.0
    return Segments(ids, torch.zeros_like(ids), mask)


def pack_pairs(
    packing: Packing, window: Tokens, question: Int[Tensor, " asked"], answers: Sequence[Int[Tensor, " _"]]
) -> Segments:
    """Make a segment of a window with a question for each answer; question and answer have the task 1."""
    cls, sep = torch.tensor([packing.cls]), torch.tensor([packing.sep])
    head = torch.cat([cls, window, sep])
    rows = [torch.cat([head, question, sep, answer, sep]) for answer in answers]
    segments = packing.pad_rows(rows)
    tasks = segments.mask.long()
    tasks[:, : len(head)] = 0
    return segments._replace(tasks=tasks)
