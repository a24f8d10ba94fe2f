"""`thu-ernie/links`: the entities that forms name, as an editable memory.

specs/thu-ernie.md, section 6. The base is empty: without edits the graph's linker finds the mentions. An edit owns
one form, which names another entity from then on, or none. The later edit of a form counts, so an edit that is
taken back leaves no trace.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Any

import torch
from pydantic import Field, field_validator

from models.memory import (
    Block,
    ChangeKind,
    EditRefused,
    Fields,
    FieldsChange,
    Image,
    Material,
    Options,
    Usage,
    block_key,
)
from models.thu_ernie.links import Form, Lexicon, words_of

LINKS = "thu-ernie/links"
LINK = "rows"  # kind of the change, name of its method and of its blocks
MAX_CHARS = 300  # characters of a form, and of the id of an entity
NO_WORD = "a form needs a letter, a digit or a sign by which a text could name an entity"


class LinkFields(Fields):
    """The change of a form's meaning.

    Attributes:
        form: A name as people write it; its case does not matter.
        entity: Id of the entity that it names, in place of its former meanings; None if it names nothing.
    """

    form: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]
    entity: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)] | None = None

    @field_validator("form")
    @classmethod
    def _check_form(cls, form: str) -> str:
        if not words_of(form):
            raise ValueError(NO_WORD)
        return form

    def summarize(self) -> str:
        """Return the change in words."""
        return f"{self.form!r} names {self.entity or 'nothing'}"


@dataclass(frozen=True)
class EditedLink:
    """The link that an edit gives a form.

    Attributes:
        entity: Id of the entity; None where the form names nothing.
        edit: The edit.
    """

    entity: str | None
    edit: str


@dataclass(frozen=True, eq=False)
class LinksView:
    """The edited forms at one version. Immutable."""

    links: Mapping[Form, EditedLink] = field(default_factory=dict)

    @cached_property
    def lexicon(self) -> Lexicon:
        """Return a dictionary that finds the edited forms in a text; the entity of each is its edit."""
        lexicon: dict[Form, Any] = {}
        for form, link in self.links.items():
            lexicon |= Lexicon().add(" ".join(form), link.edit).senses
        return Lexicon(lexicon)


class LinksMemory:
    """The links of a process."""

    name = LINKS
    accepts: frozenset[ChangeKind] = frozenset({"rows"})
    fields: Mapping[ChangeKind, type[Fields]] = {"rows": LinkFields}
    options = Options
    base = Image("sha256:" + hashlib.sha256(LINKS.encode()).hexdigest())

    def build(self, changes: Sequence[FieldsChange], options: Options) -> list[Material | EditRefused]:
        """Turn links into blocks, each from its own fields alone."""
        return [self._build(change) for change in changes]

    def _build(self, change: FieldsChange) -> Material | EditRefused:
        fields = change.fields
        assert isinstance(fields, LinkFields)
        content = json.dumps([fields.form, fields.entity]).encode()
        tensor = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        return Material(change.id, LINK, Block.of(block_key(change.id), 0, LINK, {"json": tensor}))

    def check(self, fields: LinkFields, view: LinksView) -> EditRefused | None:
        """Return why a link would change nothing: an edit made it already."""
        present = view.links.get(words_of(fields.form))
        if present is None or present.entity != fields.entity:
            return None
        return EditRefused("no_op", f"{fields.summarize()} already: nothing would change")

    def fold(self, materials: Sequence[Material]) -> Image:
        """Keep each active edit as a block."""
        return Image(self.base.base, {material.block.key: material.block for material in materials})

    def view(self, image: Image) -> LinksView:
        """Read the links in the order of the ledger."""
        links: dict[Form, EditedLink] = {}
        for block in image.ordered_blocks:
            form, entity = _read(block)
            links[words_of(form)] = EditedLink(entity, block.edit)
        return LinksView(links)

    def usage(self, image: Image) -> Usage:
        """Count the forms; there is room for any number."""
        return Usage(slots_used=len(image.blocks), slots_reserved=None)


@lru_cache(1)  # systems of one process share it
def links_memory() -> LinksMemory:
    """Return the links of this process."""
    return LinksMemory()


@lru_cache(maxsize=4_096)
def _read(block: Block) -> tuple[str, str | None]:
    form, entity = json.loads(bytes(block.tensors["json"].tolist()))
    return form, entity
