"""The format of a commit: one per version, readable in twenty years and checkable to the bit.

A commit is canonical JSON, so equal commits are equal bytes. Each names the digest of the one before it, so every
later entry shows that one was altered, lost or slipped in. Rows are named by digest and stored beside the log.
"""

from __future__ import annotations

import hashlib
import json
import operator
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast
from uuid import uuid4

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from models.graph.blocks import IMPORT as IMPORT  # also the method of an edit whose rows lie in the graph
from service.errors import LedgerCorrupt

FORMAT = 1
EDITS_PER_COMMIT = 100_000

Entry: TypeAlias = tuple[str, int, str]  # key, order and digest of a block
StreamEntry: TypeAlias = tuple[bytes, Mapping[bytes, bytes]]  # the id, and the fields `commit` and `digest`
Kind: TypeAlias = Literal["edit", "revert", "rollback"]


def new_edit_id() -> str:
    return uuid4().hex[:12]


def edit_order(version: int, index: int) -> int:
    """Return the place of an edit in the ledger: by commit, then by its place within the commit."""
    return version * EDITS_PER_COMMIT + index


@dataclass(frozen=True)
class Triple:
    """The triple that an edit of the graph writes or removes. `subject` is the id of an entity."""

    subject: str
    relation: str
    object: str
    act: Literal["set", "add", "remove"]


@dataclass(frozen=True)
class GivenTest:
    """A question that came with an edit, for checks. The expected answer is None where the model declines."""

    question: str
    answer: str | None


@dataclass(frozen=True)
class EditRecord:
    """One requested edit, with the digest of the rows that it contributes to every later fold."""

    id: str
    model: str  # the model whose answers show what the edit does
    memory: str
    question: str  # its question; "" for a fact that has none
    answer: str
    paraphrases: tuple[str, ...]
    method: str
    material: str
    order: int
    notes: Mapping[str, Any] = field(default_factory=dict)
    # The triple of an edit of the graph; None for a correction of one model's answers, and for an import
    triple: Triple | None = None
    # Questions that the edit never answers
    counterexamples: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()
    tests: Annotated[tuple[GivenTest, ...], Field(exclude_if=operator.not_)] = ()

    @cached_property
    def wordings(self) -> tuple[str, ...]:
        """The question and its paraphrases; empty without a question."""
        return (self.question, *self.paraphrases) if self.question else ()


@dataclass(frozen=True)
class Write:
    """The changes of a commit in one memory. `checksum` covers the whole memory after them."""

    checksum: str
    puts: tuple[Entry, ...] = ()
    removes: tuple[str, ...] = ()


class PackedReport(Mapping[str, Any]):
    """A compressed report: reports are nearly all of a commit's size. Each access decompresses it."""

    __slots__ = ("_data",)

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._data = zlib.compress(canonical(report), 1)

    def unpack(self) -> dict[str, Any]:
        return cast(dict[str, Any], json.loads(zlib.decompress(self._data)))

    def __getitem__(self, key: str) -> Any:
        return self.unpack()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.unpack())

    def __len__(self) -> int:
        return len(self.unpack())


@dataclass(frozen=True)
class Commit:
    """One version."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",  # this holds for the parts of a commit, too
        ser_json_inf_nan="constants",  # then `canonical` refuses numbers that JSON does not have
    )

    version: int
    kind: Kind
    author: str
    time: float  # Unix seconds
    message: str
    edits: tuple[EditRecord, ...] = ()
    activates: tuple[str, ...] = ()  # ids of the edits that it switches on
    deactivates: tuple[str, ...] = ()  # ids of the edits that it switches off
    # The commit that a revert takes back, or the version that a rollback returns to; None for a revert of
    # single edits, which `deactivates` has
    target: int | None = None
    writes: Mapping[str, Write] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)  # JSON values only
    previous: str = ""  # digest of the commit before, "" for the first
    format: int = FORMAT

    @cached_property
    def encoded(self) -> bytes:
        return canonical(_JSON.dump_python(self.unpack()))

    @cached_property
    def digest(self) -> str:
        return sha256(self.encoded)

    def entries(self) -> Iterator[Entry]:
        """Yield every block that is needed to read the commit or to fold it again."""
        for edit in self.edits:
            yield f"edit/{edit.id}", edit.order, edit.material
        for write in self.writes.values():
            yield from write.puts

    def packed(self) -> Commit:
        """Return a copy that takes little memory: without its bytes, and with its report compressed."""
        if isinstance(self.report, PackedReport):
            return self
        packed = replace(self, report=PackedReport(self.report))
        packed.__dict__["digest"] = self.digest
        return packed

    def unpack(self) -> Commit:
        return replace(self, report=self.report.unpack()) if isinstance(self.report, PackedReport) else self

    @staticmethod
    def decode(data: bytes, version: int | None = None) -> Commit:
        """Decode a commit; the inverse of `encoded`.

        Raises:
            LedgerCorrupt: The bytes are no commit, or not the one of `version`.
        """
        try:
            commit = _JSON.validate_json(data, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            newer = _read_format(data)
            reason = _too_new(newer) if newer > FORMAT else f"{where or 'it'}: {first['msg']}"
            raise corrupt(version, reason) from error
        if commit.format != FORMAT:
            raise corrupt(version, _too_new(commit.format))
        if version is not None and commit.version != version:
            raise corrupt(version, f"it calls itself version {commit.version}")
        commit.__dict__["encoded"] = data
        return commit


_JSON = TypeAdapter(Commit)


def canonical(value: object) -> bytes:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def corrupt(version: int | None, reason: str) -> LedgerCorrupt:
    name = "an entry" if version is None else f"the entry of version {version}"
    return LedgerCorrupt(
        f"{name} of the ledger cannot be used: {reason}; nothing was changed; "
        "restore the data of Redis from a backup that is older than the damage",
        version=version,
    )


def _read_format(data: bytes) -> int:
    """Read the format number of an entry whose other fields this program may not know; 0 without one."""
    try:
        number = from_json(data)["format"]
    except (ValueError, TypeError, KeyError):
        return 0
    return number if isinstance(number, int) else 0


def _too_new(number: int) -> str:
    return f"it has format {number} and this program reads format {FORMAT}: start a newer Errata"


def decode_chain(entries: Sequence[StreamEntry], first: int, previous: str | None) -> list[Commit]:
    """Decode `entries` after a check of their bytes, their places and their chain.

    Args:
        first: Version of the first entry; the others follow without a gap.
        previous: Digest of the commit before `first`; None skips its check.

    Raises:
        LedgerCorrupt: An entry is not the one that was written; the error names the first.
    """
    commits = []
    for version, (id, fields) in enumerate(entries, first):
        number = int(id.partition(b"-")[0])
        if number != version:
            raise corrupt(version, f"it is missing; the next one there is {number}")
        if b"commit" not in fields:
            raise corrupt(version, "it holds no commit")
        if sha256(fields[b"commit"]).encode() != fields.get(b"digest"):
            raise corrupt(version, "its bytes are not those that were written")
        commit = Commit.decode(fields[b"commit"], version)
        if previous is not None and commit.previous != previous:
            raise corrupt(version, "it does not follow the commit that is stored before it")
        commits.append(commit)
        previous = commit.digest
    return commits


def data_replaced(version: int) -> LedgerCorrupt:
    """Return the error for a `version` that is another commit than the one this process knows by that number."""
    return LedgerCorrupt(
        f"version {version} of the ledger is not the one this process knows: its data was replaced; "
        "restore it, or start the service again",
        version=version,
    )
