"""The knowledge of a network: perplexity, closed-book answers right to the letter, and senses that words share.

Both networks are measured by the same code, which reads a text again for each token. The paper compares senses on lists
of word similarity (Hewitt et al., section 4.2). The kinds of entities of the pack take their place: two languages are
more alike than a language and a currency. A measure is the chance that a pair of one kind has a higher cosine than a
pair of two kinds (area under the ROC curve).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.backpack.answering.prompt import Speller
from models.packs.pack import Pack
from models.training.backpack.learning import Batches
from models.training.backpack.net import BackpackNet, LanguageModel
from models.training.backpack.texts import Question

BATCH = 64
MAX_TOKENS = 48  # tokens of an answer


@dataclass(frozen=True)
class Outcome:
    """One answered question.

    Attributes:
        question: The question.
        answer: The answer.
        logprobs: Log-probability of each token, and of the end of the line if the answer ended by itself.
        finished: Whether the answer ended by itself.
    """

    question: Question
    answer: str
    logprobs: tuple[float, ...]
    finished: bool

    @property
    def is_right(self) -> bool:
        """True where the answer is right to the letter; an answer about an unknown name never is."""
        return self.finished and self.answer == self.question.answer != ""


@torch.inference_mode()
def put(net: LanguageModel, speller: Speller, questions: Sequence[Question]) -> list[Outcome]:
    """Ask questions without a text that holds the answers."""
    prompts = [speller.ask(question.text) for question in questions]
    order = sorted(range(len(questions)), key=lambda place: len(prompts[place]))
    outcomes: dict[int, Outcome] = {}
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        answers = _complete(net, speller, [prompts[place] for place in places])
        for place, (tokens, logprobs, finished) in zip(places, answers, strict=True):
            outcomes[place] = Outcome(questions[place], speller.say(tokens), logprobs, finished)
    return [outcomes[place] for place in range(len(questions))]


@torch.inference_mode()
def perplexity(net: LanguageModel, batches: Batches, documents: Sequence[str]) -> tuple[float, float]:
    """Return the perplexity of all tokens of documents, and that of the answers alone."""
    sums, counts = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    rows = sorted((batches.encode(document) for document in documents), key=len)
    for start in range(0, len(rows), BATCH):
        batch = batches.collate(rows[start : start + BATCH])
        logits = net.predict(batch.ids[:, :-1], batch.is_real[:, :-1])
        losses = F.cross_entropy(logits.flatten(0, 1).float(), batch.ids[:, 1:].flatten(), reduction="none")
        losses, weights = losses.double(), batch.weights[:, 1:].flatten()
        for kind, is_counted in enumerate((weights > 0, weights > 1)):
            sums[kind] += losses[is_counted].sum()
            counts[kind] += is_counted.sum()
    every, answers = (sums / counts.clamp(min=1)).tolist()
    return math.exp(every), math.exp(answers)


def _complete(
    net: LanguageModel, speller: Speller, prompts: Sequence[Sequence[int]]
) -> list[tuple[list[int], tuple[float, ...], bool]]:
    """Continue prompts greedily to the end of their lines; finished texts leave the batch.

    Returns:
        The tokens before the end of the line, the log-probabilities up to it, and whether it was reached.
    """
    texts, logprobs = [list(prompt) for prompt in prompts], [list[float]() for _ in prompts]
    live = list(range(len(prompts)))
    for _ in range(MAX_TOKENS):
        ids, is_real = _pad([texts[row] for row in live])
        best = net.predict(ids, is_real)[:, -1].float().log_softmax(-1).max(-1)
        for row, logprob, token in zip(live, best.values.tolist(), best.indices.tolist(), strict=True):
            texts[row].append(token)
            logprobs[row].append(logprob)
        live = [row for row in live if texts[row][-1] != speller.stop]
        if not live:
            break
    tokens = [text[len(prompt) :] for text, prompt in zip(texts, prompts, strict=True)]
    return [
        (answer[:-1] if answer[-1] == speller.stop else answer, tuple(column), answer[-1] == speller.stop)
        for answer, column in zip(tokens, logprobs, strict=True)
    ]


def _pad(texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return texts with padding before them, and where they are real."""
    length = max(map(len, texts))
    ids = torch.tensor([[0] * (length - len(text)) + list(text) for text in texts])
    is_real = torch.tensor([[False] * (length - len(text)) + [True] * len(text) for text in texts])
    return ids, is_real


FEWEST = 4  # fewest words of a kind that is compared


def find_words(pack: Pack, speller: Speller) -> dict[str, list[int]]:
    """Return the names of each kind of entity that are one piece after a space."""
    words: dict[str, list[int]] = defaultdict(list)
    for entity in pack.entities.values():
        tokens = speller.spell(f" {entity.label}")
        if len(tokens) == 1:
            words[entity.type].append(tokens[0])
    return {kind: sorted(set(tokens)) for kind, tokens in sorted(words.items()) if len(set(tokens)) >= FEWEST}


def agreement(vectors: Float[Tensor, "word width"], kinds: Sequence[int]) -> float:
    """Return the chance that a pair of one kind has a higher cosine than a pair of two; 0.5 is chance."""
    unit = F.normalize(vectors.double(), dim=-1)
    rows, columns = torch.triu_indices(len(unit), len(unit), offset=1)
    cosines = (unit[rows] * unit[columns]).sum(-1)
    kind = torch.tensor(kinds)
    is_same = kind[rows] == kind[columns]
    ranks = cosines.argsort(stable=True).argsort(stable=True).double() + 1
    n_same, n_other = int(is_same.sum()), int((~is_same).sum())
    if not n_same or not n_other:
        return 0.5
    return (float(ranks[is_same].sum()) - n_same * (n_same + 1) / 2) / (n_same * n_other)


@torch.inference_mode()
def sense_agreement(net: BackpackNet, words: Mapping[str, Sequence[int]]) -> list[float]:
    """Return the agreement of each sense."""
    tokens, kinds = flatten(words)
    ids = torch.tensor(tokens, dtype=torch.long, device=net.embedding.device)
    senses = net.senses_of(ids).cpu()
    return [agreement(senses[:, sense], kinds) for sense in range(senses.shape[1])]


def flatten(words: Mapping[str, Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return the tokens of all kinds, and the number of the kind of each."""
    pairs = [(token, kind) for kind, tokens in enumerate(words.values()) for token in tokens]
    return [token for token, _ in pairs], [kind for _, kind in pairs]
