"""The operations of the editor, each a call. No model is imported here, since the ingress has none.

A route that only forwards a call is made from its fields, its docstring and its name.
"""

# `from __future__ import annotations` is left out: FastAPI reads the annotations of the fields.
from datetime import date
from typing import Annotated

from errata import wire
from fastapi import Path, Query
from pydantic import BaseModel

from service.editing.call import Call

TAG_S = 60.0
COMMIT_S = 600.0  # time limit of a commit: a thousand edits, each measured before and after
FEED_S = 120.0
STUDY_S = 120.0
FINISH_S = 3_600.0
OLD_WORK = 10  # short questions that a look-up at a version costs: the one editor folds the graph for it

AnyVersion = Annotated[int | None, Query(ge=0, le=wire.LARGEST_VERSION)]


class Edit(Call[wire.EditReceipt], limit_s=COMMIT_S):
    """Make one commit of edits, or none; of documents only where a system reads them."""

    request: wire.EditRequest
    author: str
    key: str | None = None  # the idempotency key, with which it is made once however often it is sent
    of_document: bool = False
    key_owner: str | None = None  # whose key it is; None is the author

    @property
    def is_write(self) -> bool:
        """Return False for a trial."""
        return self.request.measure and not self.request.dry_run


class Undo(Call[wire.EditReceipt], limit_s=COMMIT_S):
    """Take edits back, or return to an old version, in a new commit."""

    request: wire.RevertRequest | wire.RollbackRequest
    author: str
    key: str | None = None

    @property
    def is_write(self) -> bool:
        """Return False for a trial."""
        return not self.request.dry_run


class ImportId(BaseModel):
    """The id of an import that is under way."""

    id: str


class BeginImport(Call[ImportId], limit_s=FEED_S, attempts=1):
    """Begin an import."""

    order: wire.ImportOrder
    author: str
    key: str | None = None


class FeedImport(Call[wire.ImportProgress], limit_s=FEED_S, attempts=1):
    """Read a piece of the file."""

    id: str
    data: bytes


class GetImport(Call[wire.ImportProgress], limit_s=FEED_S, attempts=1):
    """Return the progress of an import."""

    id: str


class FinishImport(Call[wire.ImportReceipt], limit_s=FINISH_S, attempts=1, writes=True):
    """Commit the import of a key. An editor that died has lost it, so the call is not sent again."""

    id: str
    wait: wire.Wait = "all"
    wait_report: bool = False
    key: str | None = None


class AbandonImport(Call[ImportId], limit_s=FEED_S, attempts=1):
    """End an import whose sender is gone."""

    id: str


class PutReview(Call[wire.EditDetail], limit_s=TAG_S, writes=True):
    """Set the day on which a person looks at an edit again, or take it away."""

    id: str
    on: date | None


class PutTag(Call[wire.Tag], limit_s=TAG_S, attempts=1, writes=True):
    """Give a version this name, or move the name there."""

    name: str
    version: int
    author: str


class DeleteTag(Call[wire.Tag], limit_s=TAG_S, attempts=1, writes=True):
    """Take the name away; the version stays."""

    tag: Annotated[wire.TagName, Path(alias="name", description="The tag.")]


class RunChecks(Call[wire.CheckReport], limit_s=COMMIT_S):
    """Run the fact tests of every active edit. `superseded` lists those that a later edit replaces, too."""

    superseded: bool = False


class GetChecks(Call[wire.CheckReport]):
    """Return the last report of the fact tests. `superseded` lists those that a later edit replaces, too."""

    superseded: bool = False


class ListVersions(Call[wire.VersionLog]):
    """List the newest commits; `before` continues from an older one. `by_day` counts edits by the day."""

    limit: Annotated[int, Query(ge=1, le=1_000)] = 20
    before: Annotated[int | None, Query(ge=1, le=wire.LARGEST_VERSION)] = None
    grep: Annotated[str | None, Query(min_length=1, max_length=256, description="A text in the commit.")] = (
        None
    )
    author: Annotated[str | None, Query(max_length=256, description="Who made the commit.")] = None
    since: Annotated[
        float | None,
        Query(ge=0, le=1e11, description="Only commits made from then on, in seconds since 1970."),
    ] = None
    by_day: Annotated[
        int, Query(ge=0, le=366, description="Number of days, today the last, to count edits of.")
    ] = 0


class GetVersion(Call[wire.VersionDetail]):
    """Return one commit: its edits, its writes, and its report. `wait_report` waits until that is measured."""

    version: Annotated[int, Path(ge=1, le=wire.LARGEST_VERSION)]
    wait_report: bool = False


class ListActiveEdits(Call[wire.ActiveEditList], limit_s=STUDY_S):
    """Return every active edit as POST takes it, in order; of a `memory` its changes at a `version`, with authors."""

    memory: Annotated[str, Query(max_length=200, description="Only the changes of this memory.")] = ""
    version: Annotated[int | None, Query(ge=0, le=wire.LARGEST_VERSION)] = None


class GetEdit(Call[wire.EditDetail]):
    """Return one edit with the author, time and message of its commit."""

    id: Annotated[str, Path(max_length=64, description="The id of an edit.")]


class CompareVersions(Call[wire.Diff]):
    """List the questions that two versions answer differently."""

    older: Annotated[int, Query(alias="from", ge=0, le=wire.LARGEST_VERSION)]
    to: Annotated[int, Query(ge=0, le=wire.LARGEST_VERSION)]


class ListReviews(Call[wire.ReviewList]):
    """List active edits with the days on which they are looked at again; `due` lists those whose day has come."""

    due: bool = False
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100


class ListHits(Call[wire.HitList]):
    """List the active edits on which most answers to users rested, the most used first."""

    limit: Annotated[int, Query(ge=1, le=1_000)] = 20


class ListTags(Call[wire.TagList], limit_s=TAG_S):
    """List every tag, the newest version first."""


class ListReplicas(Call[wire.ReplicaList]):
    """List version, checksums, lag and health of each replica."""


class GetMemory(Call[wire.MemoryState]):
    """Return the newest version, the checksum of each memory, and the number of active edits."""


class ExplainAnswer(Call[wire.WhyReport]):
    """Return the edits and facts behind an answer, and the answer without them."""

    question: str
    answer: wire.Answer


class GetScope(Call[wire.ScopeReport]):
    """List the edits that a question resembles most, and why each does or does not answer it, at any version."""

    question: Annotated[str, Query(min_length=1, max_length=wire.MAX_TEXT_CHARS)]
    model: Annotated[str | None, Query(max_length=256)] = None
    version: AnyVersion = None


class GetSenses(Call[wire.WordSenses]):
    """Show a word by its senses: the words that each favours, its strength, and the edits that changed it."""

    query: Annotated[wire.SensesQuery, Query()]


class FindEntities(Call[wire.EntityList], old_work=OLD_WORK):
    """Find entities by the beginning of a name; those whose name it is come first."""

    text: Annotated[str, Query(alias="q", min_length=1, max_length=200)]
    limit: Annotated[int, Query(ge=1, le=100)] = 20
    version: AnyVersion = None


class GetEntity(Call[wire.EntityState], old_work=OLD_WORK):
    """One entity at a version: its names, its facts and since when they hold, and the removed ones."""

    id: Annotated[str, Path(min_length=1, max_length=2_100)]
    version: AnyVersion = None


class ListRelations(Call[wire.RelationList]):
    """Return the relations in use, with what people call them and how many values they hold."""

    version: AnyVersion = None


class MakeTable(Call[wire.GraphTable]):
    """Return the things that edits and imports brought, as the table that an import takes. It has a row for each
    thing; several values of a relation are lines of one cell.
    """  # noqa: D205

    query: Annotated[wire.TableQuery, Query()]


class ListDocuments(Call[wire.DocumentList]):
    """List documents by id, without their texts."""

    limit: Annotated[int, Query(ge=1, le=1_000)] = 100
    after: Annotated[str | None, Query(max_length=128)] = None
    version: AnyVersion = None


class GetDocument(Call[wire.DocumentState]):
    """Return one document at a version: its text, and the edits that it follows from."""

    id: Annotated[wire.DocumentId, Path()]
    version: AnyVersion = None
