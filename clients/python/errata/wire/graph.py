"""The graph: entities with their triples at a version, and imports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from errata.wire.answers import Fact
from errata.wire.base import Request, Response, Snapshot
from errata.wire.edits import CommitRequest, EditReceipt
from errata.wire.texts import CommitVersion, Printable, Version

Format = Literal["tsv", "csv", "xlsx", "nt", "nq", "ttl", "rdf", "jsonld", "srj", "srcsv", "wikidata"]


class EntityFact(Fact):
    """A fact about an entity."""

    object_id: str = ""
    """The entity that is the object, "" for a number or a text."""
    linked_text: str = ""
    """The text that was taken for the entity, because it is the name of this entity alone at the version; ""
    where the fact names the entity itself."""
    number: str = ""
    """The number, where the object is one with its unit."""
    added_in: Version = 0
    """The first version with the fact."""


class RemovedFact(EntityFact):
    """A fact of older versions, and the version that removed it (`removed_in`); a later one may say it again."""

    removed_in: Version


class EntityHead(Response):
    """An entity. `degree` is its number of triples as a subject, in a list a lower bound where it has very many."""

    id: str
    label: str
    aliases: list[str] = Field(default_factory=list)
    description: str = ""
    degree: int


class EntityState(EntityHead):
    """An entity at `version`, with facts of earlier versions, and the numbers of facts that are left out."""

    version: Version
    facts: list[EntityFact]
    facts_left_out: int = 0
    removed_facts: list[RemovedFact] = Field(default_factory=list)
    removed_facts_left_out: int = 0


class EntityList(Snapshot):
    """Entities, the best first: those whose name is the query, then those whose name begins with it."""

    entities: list[EntityHead]
    bearers: list[str] = Field(default_factory=list)
    """Ids of the entities that a question means by the query: it is their name but for dashes, case and accents."""


class GraphRelation(Response):
    """A relation of the graph, and how many values one subject has; None where nothing says it."""

    relation: str
    label: str
    holds: Literal["one", "many"] | None = None


class RelationList(Snapshot):
    relations: list[GraphRelation]


class TableQuery(Request, strict=False):
    """Which part of the graph is wanted as a table."""

    subject: Annotated[str, Field(min_length=1, max_length=200), Printable] = "Name"
    """Heading of the column with the names of things."""
    where: list[Annotated[str, Field(max_length=400), Printable]] = Field(default_factory=list, max_length=8)
    """Conditions that the things fulfil, each as RELATION=VALUE."""
    version: Version | None = None
    """None for the newest."""


class GraphTable(Snapshot):
    """Things of the graph as a table."""

    columns: list[str]
    """The headings; the first is the one of the names."""
    rows: list[list[str]]
    """The cells of each thing; several values of a relation are lines of one cell."""
    left_out: list[str] = Field(default_factory=list)
    """A sentence on each thing or relation that the table cannot have."""


class RejectedLine(Response):
    line: int
    code: str
    reason: str


class Triple(Response):
    """A triple as it is written down."""

    subject: str
    relation: str
    object: str


class ImportedTriple(Triple):
    """A triple of an import."""

    line: int
    """Line of the file."""
    before: str = ""
    """The value that it replaced or stands beside; "" without one."""
    by_hand: bool = False
    """Whether it goes against what a person edited: replaces that, stands beside it, or was taken away by it."""
    version: CommitVersion | None = None
    """The version of the edit or import that it replaced or goes against; None without one."""
    author: str = ""
    """Who made that."""
    is_left_out: bool = False
    """Whether the triple was left out for the sake of a person's edit."""
    source: str = ""
    """The graph of a file that says it, "" for the file itself or an edit without one."""


class ImportCounts(Response):
    """The counts of an import."""

    format: Format
    lines: int
    triples: int
    entities: int
    """Entities that the file names."""
    new_entities: int
    """Entities that the graph did not have."""
    rejected: int
    """Number of lines that cannot be used."""
    rejected_by: dict[str, int] = Field(default_factory=dict)
    """Number of rejected lines by reason."""
    skipped: dict[str, int] = Field(default_factory=dict)
    """Well-formed statements that are left out on purpose, by reason."""
    rejected_lines: list[RejectedLine] = Field(default_factory=list)
    """The first of the rejected lines."""
    seconds: float
    """Duration of the import."""
    source: str = ""
    """Name of the file."""
    n_replaced: int = 0
    """Number of values of the graph that it replaced."""
    n_by_hand: int = 0
    """Number of triples that go against what a person edited."""
    rows: list[ImportedTriple] = Field(default_factory=list)
    """The first triples, and those that replaced a value or go against a person's edit."""


class ImportReceipt(EditReceipt):
    """The receipt of an import."""

    counts: ImportCounts


class ImportOrder(CommitRequest, strict=False):  # values of a query are texts
    """The query of an import; the file itself is the body."""

    format: Format | None = None
    """None detects the format."""
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    """Language of the labels that are taken; those of a region (en-GB) where there is none without."""
    source: Annotated[str, Field(max_length=200), Printable] = ""
    """Name of the file, for the log."""
    subject: Annotated[str, Field(max_length=200), Printable] = ""
    """Heading of the column with the names of things, of a table with a row for each thing and a column for
    each fact. The value of a cell takes the place of others, unless the relation holds many."""
    sheet: Annotated[str, Field(max_length=200), Printable] = ""
    """Name of the sheet of an Excel workbook; "" for the only one with cells."""
    column: list[Annotated[str, Field(max_length=500, pattern="="), Printable]] = Field(
        default_factory=list, max_length=256
    )
    """Columns of a table that are not called as their relation is, each as HEADING=RELATION; HEADING= leaves
    the column out, and HEADING=@from, @to or @time makes it the period in which the facts of a row hold."""
    expected_version: Version | None = None
    strict: bool = False
    """Answer 409 `breaks_tests` if triples go against what a person edited, and 409 `similar_name` if a new
    name is one letter away from another name."""
    keep_corrections: bool = False
    """Leave out the triples that go against what a person edited."""


class ImportProgress(Response):
    """The progress of an import, one line of the stream: `done` of `total` in the unit of the phase."""

    phase: Annotated[
        str, Field(description="reading (bytes), comparing, writing (triples), committing, replicas")
    ]
    done: int
    total: int | None = None
    lines: int = 0
    triples: int = 0
    rejected: int = 0
