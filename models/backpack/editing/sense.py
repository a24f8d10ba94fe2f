"""Changes of the senses of a word, for all texts: projected, transplanted, overwritten or weighed by a factor.

Hewitt et al., arXiv:2305.16765, section 5. What a curator writes becomes an operation on one token (overlay.py), or is
refused in words that say what would work.
"""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from models.backpack.editing.overlay import SENSE, Action, SenseOperation, read_row
from models.backpack.network import Backpack
from models.backpack.speller import Speller
from models.blocks import block_key
from models.memory import EditRefused, Fields, FieldsChange, Material

NEEDS: Mapping[str, frozenset[str]] = {  # action -> fields that it cannot do without
    "project": frozenset({"away", "towards"}),
    "transplant": frozenset({"towards"}),
    "overwrite": frozenset({"towards"}),
    "factor": frozenset({"factor"}),
}
TAKES: Mapping[str, frozenset[str]] = {  # action -> fields that it may have besides
    "project": frozenset({"strength", "orthogonal"}),
    "transplant": frozenset({"strength"}),
    "overwrite": frozenset({"strength"}),
    "factor": frozenset(),
}
CHOICES = frozenset({"away", "towards", "strength", "orthogonal", "factor"})


class SenseChange(Fields):
    """A change of the senses of one word.

    Words are exact strings: ` Lima` after a space is another token than `Lima` at the start of a text.
    """

    word: str = Field(description="the word whose senses change, with the space before it where it has one")
    action: Action = Field(
        description="project: replace the direction of `away` by that of `towards`; transplant: take the senses of "
        "`towards`; overwrite: point at the words of `towards`; factor: multiply the weights of senses"
    )
    away: str | None = None
    towards: tuple[str, ...] = Field(default=(), description="a word; several make a topic to overwrite with")
    senses: tuple[int, ...] = Field(default=(), description="numbers of senses, from 0; none means all")
    strength: float = Field(
        default=1.0, description="how far to go from the old sense to the new one, 0 to 1"
    )
    factor: float | None = Field(default=None, description="0 silences, 1 changes nothing")
    orthogonal: bool = Field(default=False, description="remove what `towards` brings back of `away`")
    first_piece: bool = Field(default=False, description="of a word of several pieces, change the first one")

    @field_validator("towards", "senses", mode="before")
    @classmethod
    def _accept_single(cls, value: object) -> object:
        """Take a single value for a list of it."""
        return (value,) if isinstance(value, str | int) else value

    def summarize(self) -> str:
        """Return the change in one line of words."""
        senses = f"senses {', '.join(map(str, self.senses))} of " if self.senses else ""
        towards = ", ".join(map(repr, self.towards))
        if self.action == "factor":
            return f"weigh {senses}{self.word!r} by {self.factor}"
        if self.action == "project":
            return f"project {senses}{self.word!r} away from {self.away!r} towards {towards}"
        verb = "give" if self.action == "transplant" else "point"
        joint = "the senses of" if self.action == "transplant" else "at"
        return f"{verb} {senses}{self.word!r} {joint} {towards}"


def build_sense(model: Backpack, speller: Speller, change: FieldsChange) -> Material:
    """Build the material of one change, or raise EditRefused with a change that would work."""
    fields = change.fields
    assert isinstance(fields, SenseChange)
    check_fields(fields, model.config.senses)
    warnings: list[str] = []
    operation = SenseOperation(
        action=fields.action,
        word=find_piece(speller, fields.word, fields.first_piece, warnings),
        away=None if fields.away is None else find_piece(speller, fields.away, fields.first_piece, warnings),
        towards=_find_towards(speller, fields, warnings),
        senses=fields.senses or tuple(range(model.config.senses)),
        strength=fields.strength,
        factor=fields.factor,
        orthogonal=fields.orthogonal,
    )
    shift = _measure_shift(model, operation, fields.word)
    if shift == 0:
        warnings.append("this changes nothing: the word has these senses already")
    notes: dict[str, Any] = {
        "slots": len(operation.senses),
        "word": fields.word,
        "pieces": {speller.read([token]): token for token in speller.spell(fields.word)},
        "id": operation.word,
        "senses": list(operation.senses),
        "shift": round(shift, 4),
    }
    block = operation.to_block(block_key(change.id))
    return Material(change.id, SENSE, block, {**notes, "warnings": warnings} if warnings else notes)


def _measure_shift(model: Backpack, operation: SenseOperation, word: str) -> float:
    """Return how far the senses of a word move, weights included."""
    before, factors_before = read_row(model, None, operation.word)
    try:
        senses, factors = operation.apply(model, before, factors_before)
    except ValueError as cause:
        raise EditRefused("no_direction", f"{word!r}: {cause}") from cause
    return float((senses * factors[:, None] - before).norm())


def check_fields(fields: SenseChange, n_senses: int) -> None:
    """Check everything that needs no vocabulary; raise EditRefused for a field that is missing, wrong or useless."""
    fields_set = {name for name in CHOICES if name in fields.model_fields_set}
    if missing := sorted(NEEDS[fields.action] - fields_set):
        raise EditRefused("incomplete", f"{fields.action} needs {' and '.join(missing)}: add it")
    if useless := sorted(fields_set - NEEDS[fields.action] - TAKES[fields.action]):
        raise EditRefused("unused", f"{fields.action} has no use for {' and '.join(useless)}: leave it out")
    if unknown := [sense for sense in fields.senses if not 0 <= sense < n_senses]:
        raise EditRefused(
            "unknown_sense", f"there is no sense {unknown[0]}: the senses are 0 to {n_senses - 1}"
        )
    if not 0 <= fields.strength <= 1:
        raise EditRefused("bad_strength", f"strength is {fields.strength}: it has to lie between 0 and 1")
    if fields.factor is not None and not (fields.factor >= 0 and math.isfinite(fields.factor)):
        raise EditRefused(
            "bad_factor",
            f"factor is {fields.factor}: weights of senses are never negative; 0 silences a sense, and to turn it "
            "round project it away from one word towards another",
        )
    if fields.action in ("project", "transplant") and len(fields.towards) != 1:
        detail = (
            f"{fields.action} takes one word in towards, not {len(fields.towards)}; overwrite takes a topic"
        )
        raise EditRefused("one_word", detail)


def _find_towards(speller: Speller, fields: SenseChange, warnings: list[str]) -> tuple[int, ...]:
    """Return the tokens of the words that a change goes towards."""
    if len(fields.towards) == 1:
        return (find_piece(speller, fields.towards[0], fields.first_piece, warnings),)
    tokens, unknown = [], []
    for word in fields.towards:
        try:
            tokens.append(find_piece(speller, word, fields.first_piece, []))
        except EditRefused:
            unknown.append(repr(word))
    if fields.towards and not tokens:
        raise EditRefused(
            "no_topic",
            f"no word of the topic is one piece ({', '.join(unknown)}): name words that the texts use, each with the "
            "space before it, or set first_piece",
        )
    if unknown:
        warnings.append(f"left out of the topic, for they are several pieces: {', '.join(unknown)}")
    return tuple(tokens)


def find_piece(speller: Speller, word: str, first_piece: bool, warnings: list[str]) -> int:
    """Return the token of a word, written exactly, or of the first piece of several; add what a curator should know.

    Raises:
        EditRefused: The word is empty, or several pieces.
    """
    pieces = speller.spell(word)
    if not pieces:
        raise EditRefused("no_word", "the word is empty: name one that stands in texts")
    texts = speller.list_pieces(pieces)
    if len(pieces) > 1 and not first_piece:
        with_space = f" {word}"
        hint = f"write {with_space!r}, which is one piece, " if len(speller.spell(with_space)) == 1 else ""
        detail = f"{word!r} is {len(pieces)} pieces ({texts}): {hint}name one of them, or set first_piece"
        raise EditRefused("several_pieces", detail)
    if len(pieces) > 1:
        warnings.append(
            f"{word!r} is {len(pieces)} pieces ({texts}): its first one is changed in all words with it"
        )
    elif not word.startswith(" ") and len(speller.spell(f" {word}")) == 1:
        warnings.append(f"{word!r} after a space is another token, {f' {word}'!r}, which keeps its senses")
    return pieces[0]
