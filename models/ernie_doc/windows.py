"""The windows of a document that are likeliest to hold an answer.

A document is cut into short overlapping chunks of tokens, whose sentence vectors are kept. A window is as near to a
question as the nearest chunk that begins in it.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import torch
from more_itertools import chunked
from torch import Tensor

from models.encoder.minilm import MiniLM
from models.kit.batching import Cache
from models.reading.document import Document
from models.reading.windows import Window

CHUNK, STRIDE = 24, 16  # tokens of a chunk, and from one to the next: about a sentence
AT_ONCE = 16  # chunks that are read in one step
VECTOR_BYTES = 64 * 2**20  # bound of the vectors of all documents
FAR = -1.0  # cosine of a window in which no chunk begins


@dataclass(frozen=True)
class Choice:
    """The windows that a question is asked of."""

    numbers: Sequence[int]  # in the order of the text
    # Nearness of each of them; None if all windows are asked, for then none is compared.
    cosines: Sequence[float] | None


class Chooser:
    """Choose windows by their sentence vectors, which are kept for the documents that were asked last. Thread-safe."""

    def __init__(self, encoder: MiniLM) -> None:
        self._encoder = encoder
        self._vectors = Cache[str, Tensor](VECTOR_BYTES, lambda vectors: vectors.nbytes)

    def choose(
        self, document: Document, windows: Sequence[Window], question: str, n_windows: int
    ) -> Iterator[int | Choice]:
        """Yield the number of chunks that are read, now and then, and last the choice."""
        if len(windows) <= n_windows:
            yield Choice(range(len(windows)), None)
            return
        vectors = yield from self._embed(document)
        near = vectors @ self._encoder.encode([question]).sentences[0].cpu()
        owner = torch.tensor([window.first for window in windows])
        places = torch.searchsorted(owner, torch.arange(len(near)) * STRIDE, right=True) - 1
        cosines = torch.full((len(windows),), FAR).scatter_reduce(0, places, near, "amax")
        numbers = sorted(cosines.topk(n_windows).indices.tolist())
        yield Choice(numbers, cosines[numbers].tolist())

    def _embed(self, document: Document) -> Generator[int, None, Tensor]:
        vectors = self._vectors.get(document.text)
        if vectors is None:
            chunks = cut_chunks(document)
            parts: list[Tensor] = []
            for part in chunked(chunks, AT_ONCE):
                parts.append(self._encoder.encode(part).sentences.cpu())
                yield min(len(parts) * AT_ONCE, len(chunks))
            vectors = torch.cat(parts)
            self._vectors.keep({document.text: vectors})
        return vectors


def cut_chunks(document: Document) -> list[str]:
    """Return the text of each chunk of a document; chunk i begins with token i * STRIDE."""
    firsts = range(0, len(document), STRIDE)
    return [
        document.text[slice(*document.cut(first, min(first + CHUNK, len(document)) - 1))] for first in firsts
    ]
