"""Calls about the senses of words."""

from __future__ import annotations

from errata import wire
from errata.request import Call, build, to_query


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
