"""Texts as tokens and back, and the forms in which a question is asked.

A question is asked as the training text asks it, `Q: ...` and `A:` on a line each, and the answer ends with its line.
The tokenizer is byte-level, so each text can be spelled, and a word has another token after a space than without one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from models.kit.checkpoint import CheckpointError

NEWLINE = "\u010a"  # the byte-level name of the piece that is one line feed
BROKEN = "\ufffd"  # the decoder's sign for bytes that are no whole character


@dataclass(frozen=True)
class Speller:
    """Texts as tokens, and back."""

    tokenizer: Tokenizer  # byte-level pieces
    stop: int  # token that ends an answer: the end of its line

    @staticmethod
    def of(tokenizer: Tokenizer) -> "Speller":
        """Build the speller of a tokenizer.

        Raises:
            CheckpointError: The tokenizer has no piece for the end of a line.
        """
        stop = tokenizer.token_to_id(NEWLINE)
        if stop is None:
            raise CheckpointError(
                "the tokenizer has no piece for the end of a line: train the checkpoint again"
            )
        tokenizer.encode_special_tokens = True  # the end token of a text that a question quotes is plain text
        return Speller(tokenizer, stop)

    def ask(self, question: str) -> list[int]:
        """Return the prompt of a question, whose line breaks become spaces."""
        return self.spell(write_prompt(question))

    def answer(self, text: str) -> list[int]:
        """Return the tokens of an answer as they follow a prompt, the end of the line included."""
        return [*self.spell(f" {text}"), self.stop]

    def spell(self, text: str) -> list[int]:
        """Return the tokens of a text to the letter, a leading space included."""
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def say(self, tokens: Sequence[int]) -> str:
        """Return the text of an answer."""
        return self.read(tokens).strip()

    def read(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens to the letter."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=False)
        return text

    def list_pieces(self, tokens: Sequence[int]) -> str:
        """Return the texts of pieces for a sentence about them."""
        return ", ".join(repr(self.read([token])) for token in tokens)

    def settle(self, tokens: Sequence[int]) -> str:
        """Return the text of the first tokens of an answer that no further token changes.

        Spaces at its end and the bytes of half a character wait for what follows.
        """
        return self.say(tokens).rstrip(BROKEN).rstrip()


def write_prompt(question: str) -> str:
    """Return the text that a question is completed from."""
    return f"Q: {' '.join(question.split())}\nA:"


def write_exchange(question: str, answer: str) -> str:
    """Return a question with its answer, as the training text has it."""
    return f"{write_prompt(question)} {answer}\n"
