"""Calls about the senses of words, and about the sense that carries a difference between two words."""

from __future__ import annotations

from collections.abc import Sequence

from errata import wire
from errata.request import Call, build, to_query

MULTIPLIERS = (1.0, 0.75, 0.5, 0.25, 0.0)


class SenseCalls:
    """The part of `Calls` about the senses of words."""

    def senses(
        self,
        word: str,
        *,
        sense: int | None = None,
        top_k: int = 8,
        exact: bool = False,
        first_piece: bool = False,
        model: str | None = None,
        version: int | None = None,
    ) -> Call[wire.WordSenses]:
        """Show a word by its senses: the words that each favours, its strength, and the edits that changed it.

        Args:
            word: The word, which is looked up with a space before it where that is known.
            sense: Number of one sense; None shows all.
            top_k: Number of words that show each sense.
            exact: Take the word as it is written.
            first_piece: Show the first piece of a word of several pieces.
            model: The system; None for the first whose words have senses.
            version: The version; None for the newest.
        """
        query = build(
            wire.SensesQuery,
            word=word,
            sense=sense,
            top_k=top_k,
            exact=exact,
            first_piece=first_piece,
            model=model,
            version=version,
        )
        fields = to_query(**query.model_dump(exclude_defaults=True))
        return Call("GET", "/v1/senses", wire.WordSenses, query=fields)

    def bias(
        self,
        pairs: Sequence[tuple[str, str]] = (),
        *,
        words: Sequence[str] = (),
        prompts: Sequence[str] = (),
        sentences: Sequence[str] = (),
        multipliers: Sequence[float] = MULTIPLIERS,
        sense: int | None = None,
        model: str | None = None,
        version: int | None = None,
    ) -> Call[wire.BiasReport]:
        """Find the sense that carries the difference between two words, and measure multipliers on it.

        Args:
            pairs: Words that are compared as the next word of a prompt; without any, the model studies its own list.
            words: Words whose senses may carry the difference; each replaces `{word}` in the prompts.
            prompts: Texts up to the place where a pair is compared.
            sentences: Texts on which side effects are measured.
            multipliers: Factors on the weight of the sense.
            sense: Number of the sense; None for the one that carries most.
            model: The system; None for the first whose words have senses.
            version: The version; None for the newest.
        """
        body = build(
            wire.BiasRequest,
            pairs=[list(pair) for pair in pairs],
            words=list(words),
            prompts=list(prompts),
            sentences=list(sentences),
            multipliers=list(multipliers),
            sense=sense,
            model=model,
            version=version,
        )
        return Call("POST", "/admin/bias", wire.BiasReport, body, slow=True)
