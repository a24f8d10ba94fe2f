"""Tokenizers of byte-level pieces, learned from a pack, so that they can spell any text.

Byte-pair encoding, Sennrich et al. (arXiv:1508.07909), over bytes as GPT-2 has it: there is no unknown token.
"""

from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PAD, END = "<pad>", "</s>"  # ids 0 and 1, as in T5


def train(answers: Iterable[str], size: int) -> Tokenizer:
    """Train the answer tokenizer, which puts a space before every text."""
    return learn_pieces(sorted(set(answers)), size, [PAD, END], starts_with_space=True)


def learn_pieces(
    texts: Iterable[str], size: int, special_tokens: Sequence[str], starts_with_space: bool
) -> Tokenizer:
    """Learn a tokenizer of `size` pieces, of which the special ones are the first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=starts_with_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(special_tokens),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
