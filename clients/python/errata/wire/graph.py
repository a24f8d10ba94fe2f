"""The graph as it is read and filled: entities with their triples at a version, relations, and what an import did."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from errata.wire.base import Message, Printable, Request, Response, Version
from errata.wire.edits import EditReceipt, Wait

Format = Literal["tsv", "csv", "nt", "wikidata"]


class EntityFact(Response):
    """label: how people call the relation. object_id: the entity that the object is, "" for a number or a text.

    edit: the edit or import that says so, "" for the base. added_in: the version since which it holds.
    """

    relation: str
    label: str
    object: str
    object_id: str = ""
    edit: str = ""
    added_in: Version = 0


class RemovedFact(EntityFact):
    """A fact of an older version that this one does not have. removed_in: the version that took it away."""

    removed_in: Version


class EntityHead(Response):
    """degree: how many triples it is the subject of; of very many at least so many, where it is one of a list."""

    id: str
    label: str
    aliases: list[str] = Field(default_factory=list)
    description: str = ""
    degree: int


class EntityState(EntityHead):
    """At `version`. removed_facts: of earlier versions. facts_left_out: how many more it has."""

    version: Version
    facts: list[EntityFact]
    facts_left_out: int = 0
    removed_facts: list[RemovedFact] = Field(default_factory=list)


class EntityList(Response):
    """Best first: whose name is the query, then those whose name begins with it."""

    version: Version
    entities: list[EntityHead]


class RejectedLine(Response):
    line: int
    code: str
    reason: str


class ImportCounts(Response):
    """rejected: lines that could not be used. skipped: usable statements that are left out on purpose, by reason.

    rejected_lines: the first of the rejected lines.
    """

    format: Format
    lines: int
    triples: int
    entities: int
    new_entities: int
    rejected: int
    rejected_by: dict[str, int] = Field(default_factory=dict)
    skipped: dict[str, int] = Field(default_factory=dict)
    rejected_lines: list[RejectedLine] = Field(default_factory=list)
    seconds: float
    source: str = ""


class ImportReceipt(EditReceipt):
    """version: None for a dry run."""

    counts: ImportCounts


class ImportOrder(Request):
    """The query of an import; the file itself is the body. format: None looks at the content.

    language: which labels are taken of a file that has several. source: what the file is called, for the log.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)  # a query is all text

    format: Format | None = None
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    source: Annotated[str, Field(max_length=200), Printable] = ""
    message: Message = ""
    expected_version: Version | None = None
    dry_run: bool = False
    strict: bool = False
    wait: Wait = "all"


class ImportProgress(Response):
    """One line of the stream: how far the import is. `done` of `total` in the unit of the phase."""

    phase: Annotated[str, Field(description="reading (bytes), writing (triples), committing, replicas")]
    done: int
    total: int | None = None
    lines: int = 0
    triples: int = 0
    rejected: int = 0
