"""Which words are part of a name (models/scope/wordings).

Logistic regression on the embeddings of a word and of those around it, learned from questions whose names are known:
those of the training, real ones and crowds. Slips are learned from misspelt names, and from names of one crowd.
"""

import random
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from tokenizers import Tokenizer
from torch import Tensor

from models.confidence import minimise
from models.encoder.minilm import MiniLM
from models.scope.wordings.names import (
    AROUND,
    CONTINUATION,
    N_PLACES,
    NO_WORD,
    NameWeights,
    Word,
    join_pieces,
)
from models.training.scope.crowds.crowd import RealCrowds, draw_crowd
from models.training.scope.names import Names
from models.training.scope.relations import SUBJECT
from models.training.texts.relations import RelationText

N_QUESTIONS = 60_000
FROM_CROWD = 0.4  # share of the names that are of crowds
NAME_DECAY, NAME_STEPS = 2e-5, 150

MarkedWords = Sequence[tuple[Word, bool]]


def fit_names(
    relations: Sequence[RelationText], names: Names, encoder: MiniLM, rng: random.Random
) -> NameWeights:
    """Fit the weights by which a word of a question is part of a name."""
    places_of_words: dict[Word, int] = {NO_WORD: 0}
    rows, is_name = _make_table(list(_draw(relations, names, encoder.tokenizer, rng)), places_of_words)
    zero = encoder.words.new_zeros(encoder.words.shape[1])
    vectors = torch.stack([encoder.words[list(word)].mean(0) if word else zero for word in places_of_words])
    scale = 1 / vectors[1:].std()
    flags = torch.tensor([[float(len(word) > 1), float(not word)] for word in places_of_words])
    columns = torch.cat([vectors * scale, flags], 1)
    weights = torch.zeros(columns.shape[1], N_PLACES, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)

    def loss() -> Tensor:
        of_words = columns @ weights
        log_odds = bias + torch.stack([of_words[rows[:, place], place] for place in range(N_PLACES)]).sum(0)
        return (
            F.binary_cross_entropy_with_logits(log_odds, is_name.float())
            + NAME_DECAY * weights.square().sum()
        )

    minimise([weights, bias], loss, NAME_STEPS)
    of_places = weights.detach().T.clone()
    of_places[:, : vectors.shape[1]] *= scale
    return NameWeights(of_places.tolist(), float(bias.detach()))


def _make_table(
    questions: Sequence[MarkedWords], places: dict[Word, int]
) -> tuple[Int[Tensor, "word place"], Bool[Tensor, " word"]]:
    """Number the distinct words into `places`; return the words around each word, and whether it is part of a name."""
    rows, is_name = list[list[int]](), list[bool]()
    for question in questions:
        edge = [0] * AROUND
        numbers = [*edge, *(places.setdefault(word, len(places)) for word, _ in question), *edge]
        rows += [numbers[start : start + N_PLACES] for start in range(len(question))]
        is_name += [mark for _, mark in question]
    return torch.tensor(rows), torch.tensor(is_name)


def _draw(
    relations: Sequence[RelationText], names: Names, tokenizer: Tokenizer, rng: random.Random
) -> Iterator[MarkedWords]:
    """Draw questions as words, with a mark at those of the name."""
    real = RealCrowds(names.by_type)
    pieces = frozenset(id for piece, id in tokenizer.get_vocab().items() if piece.startswith(CONTINUATION))
    for _ in range(N_QUESTIONS):
        relation = rng.choice(relations)
        is_of_crowd = rng.random() < FROM_CROWD
        name = rng.choice(draw_crowd(rng, real).names) if is_of_crowd else names.draw(relation.subject, rng)
        before, _, after = rng.choice(relation.phrasings).partition(SUBJECT)
        yield [
            (word, is_name)
            for text, is_name in ((before, False), (name, True), (after, False))
            for word in join_pieces(tokenizer.encode(text, add_special_tokens=False).ids, pieces)
        ]
