"""The graph: entities with their triples at a version, and imports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from errata.wire.base import CommitVersion, Message, Printable, Request, Response, Version
from errata.wire.edits import EditReceipt, Wait

Format = Literal["tsv", "csv", "xlsx", "nt", "wikidata"]


class EntityFact(Response):
    """A fact about an entity.

    Attributes:
        label: The relation in words.
        object_id: The entity that is the object, "" for a number or a text.
        linked_text: The text that was taken for the entity, because it is the name of this entity alone at the version;
            "" where the fact names the entity itself.
        edit: The edit or import that wrote the fact, "" for the base.
        added_in: The first version with the fact.
    """

    relation: str
    label: str
    object: str
    object_id: str = ""
    linked_text: str = ""
    edit: str = ""
    added_in: Version = 0


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
    """An entity at `version`, with facts of earlier versions, and the number of current facts that are left out."""

    version: Version
    facts: list[EntityFact]
    facts_left_out: int = 0
    removed_facts: list[RemovedFact] = Field(default_factory=list)


class EntityList(Response):
    """Entities, the best first: those whose name is the query, then those whose name begins with it."""

    version: Version
    entities: list[EntityHead]


class GraphRelation(Response):
    """A relation of the graph, and how many values one subject has; None where nothing says it."""

    relation: str
    label: str
    holds: Literal["one", "many"] | None = None


class RelationList(Response):
    version: Version
    relations: list[GraphRelation]


class TableQuery(Request):
    """Which part of the graph is wanted as a table.

    Attributes:
        subject: Heading of the column with the names of things.
        where: Conditions that the things fulfil, each as RELATION=VALUE.
        version: None for the newest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    subject: Annotated[str, Field(min_length=1, max_length=200), Printable] = "Name"
    where: list[Annotated[str, Field(max_length=400), Printable]] = Field(default_factory=list, max_length=8)
    version: Version | None = None


class GraphTable(Response):
    """Things of the graph as a table.

    Attributes:
        columns: The headings; the first is the one of the names.
        rows: The cells of each thing; several values of a relation are lines of one cell.
        left_out: A sentence on each thing or relation that the table cannot have.
    """

    version: Version
    columns: list[str]
    rows: list[list[str]]
    left_out: list[str] = Field(default_factory=list)


class RejectedLine(Response):
    line: int
    code: str
    reason: str


class ImportedTriple(Response):
    """A triple of an import.

    Attributes:
        line: Line of the file.
        before: The value that it replaced or stands beside; "" without one.
        by_hand: Whether it goes against what a person edited: replaces that, stands beside it, or was taken away by it.
        version: The version of the edit or import that it replaced or goes against; None without one.
        author: Who made that.
        is_left_out: Whether the triple was left out for the sake of a person's edit.
    """

    line: int
    subject: str
    relation: str
    object: str
    before: str = ""
    by_hand: bool = False
    version: CommitVersion | None = None
    author: str = ""
    is_left_out: bool = False


class ImportCounts(Response):
    """The counts of an import.

    Attributes:
        n_replaced: Number of values of the graph that it replaced.
        n_by_hand: Number of triples that go against what a person edited.
        rows: The first triples, and those that replaced a value or go against a person's edit.
        entities: Entities that the file names.
        new_entities: Entities that the graph did not have.
        rejected: Number of lines that cannot be used.
        rejected_by: Number of rejected lines by reason.
        skipped: Well-formed statements that are left out on purpose, by reason.
        rejected_lines: The first of the rejected lines.
        seconds: Duration of the import.
        source: Name of the file.
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
    n_replaced: int = 0
    n_by_hand: int = 0
    rows: list[ImportedTriple] = Field(default_factory=list)


class ImportReceipt(EditReceipt):
    """The receipt of an import."""

    counts: ImportCounts


class ImportOrder(Request):
    """The query of an import; the file itself is the body.

    Attributes:
        format: None detects the format.
        language: Language of the labels that are taken; those of a region (en-GB) where there is none without.
        source: Name of the file, for the log.
        subject: Heading of the column with the names of things, of a table with a row for each thing and a column for
            each fact. The value of a cell takes the place of others, unless the relation holds many.
        sheet: Name of the sheet of an Excel workbook; "" for the only one with cells.
        column: Columns of a table that are not called as their relation is, each as HEADING=RELATION; HEADING= leaves
            the column out.
        strict: Answer 409 `breaks_tests` if triples go against what a person edited, and 409 `similar_name` if a new
            name is one letter away from another name.
        keep_corrections: Leave out the triples that go against what a person edited.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)  # values of a query are texts

    format: Format | None = None
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    source: Annotated[str, Field(max_length=200), Printable] = ""
    subject: Annotated[str, Field(max_length=200), Printable] = ""
    sheet: Annotated[str, Field(max_length=200), Printable] = ""
    column: list[Annotated[str, Field(max_length=500, pattern="="), Printable]] = Field(
        default_factory=list, max_length=256
    )
    message: Message = ""
    expected_version: Version | None = None
    dry_run: bool = False
    strict: bool = False
    keep_corrections: bool = False
    wait: Wait = "all"
    wait_report: bool = False


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
