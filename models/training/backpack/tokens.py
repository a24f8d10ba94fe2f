"""The tokenizer: byte-level pieces learned from the training text, a word with the space before it.

Byte-pair encoding, Sennrich et al. (arXiv:1508.07909), over bytes as GPT-2 has it: there is no unknown token. The end
of a text is id 0, and the end of a line is one piece.
"""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|end|>"


def learn_tokenizer(texts: Iterable[str], size: int) -> Tokenizer:
    """Learn a tokenizer of `size` pieces from texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
