"""The answer tokenizer: byte-level pieces learned from the pack, so that it can spell any text.

Byte-pair encoding, Sennrich et al. (arXiv:1508.07909), over bytes, so there is no unknown token.
"""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PAD, END = "<pad>", "</s>"  # ids 0 and 1, as in T5


def train(answers: Iterable[str], size: int) -> Tokenizer:
    """Train a tokenizer of `size` pieces on answers."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sorted(set(answers)), trainer)
    return tokenizer
