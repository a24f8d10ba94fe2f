"""What the ledger holds: one commit per version, readable in twenty years and checkable to the bit.

Canonical JSON, so that equal commits are equal bytes. Each commit names the digest of the one before it, so
no entry can be altered, lost or slipped in without every later one showing it. Rows are named by digest and
stored beside the log.
"""

from __future__ import annotations

import hashlib
import json
import operator
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias
from uuid import uuid4

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from service.errors import LedgerCorrupt

FORMAT = 1
EDITS_PER_COMMIT = 100_000
IMPORT = "import"  # the method of an edit whose rows lie outside the ledger (service/graph)

Entry: TypeAlias = tuple[str, int, str]  # a block's key, order and digest
StreamEntry: TypeAlias = tuple[bytes, Mapping[bytes, bytes]]  # the id, then the fields `commit` and `digest`
Kind: TypeAlias = Literal["edit", "revert", "rollback"]


def new_edit_id() -> str:
    return uuid4().hex[:12]


def edit_order(version: int, index: int) -> int:
    """Where the edit stands in the ledger: by commit, then by its place within the commit."""
    return version * EDITS_PER_COMMIT + index


@dataclass(frozen=True)
class Triple:
    """What an edit of the graph is about. subject: an entity's id. act: set, add or remove."""

    subject: str
    relation: str
    object: str
    act: Literal["set", "add", "remove"]


@dataclass(frozen=True)
class EditRecord:
    """One edit as it was asked for, with the digest of the rows it contributes to every later fold.

    model: whose answers show what the edit does. question: "" where nobody knows how to ask for it.
    triple: of an edit of the graph; None for a correction of one model's answers, and for an import.
    counterexamples: questions that it never answers.
    """

    id: str
    model: str
    memory: str
    question: str
    answer: str
    paraphrases: tuple[str, ...]
    method: str
    material: str
    order: int
    notes: Mapping[str, Any] = field(default_factory=dict)
    triple: Triple | None = None
    counterexamples: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()

    @cached_property
    def wordings(self) -> tuple[str, ...]:
        """The question and its paraphrases; empty where nobody knows how to ask for it."""
        return (self.question, *self.paraphrases) if self.question else ()


@dataclass(frozen=True)
class Write:
    """What a commit changes in one memory. checksum: of the whole memory afterwards."""

    checksum: str
    puts: tuple[Entry, ...] = ()
    removes: tuple[str, ...] = ()


class PackedReport(Mapping[str, Any]):
    """A report compressed: it is nearly all of a commit that is held in memory. Each access decompresses it."""

    __slots__ = ("_data",)

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._data = zlib.compress(canonical(report), 1)

    def unpack(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(zlib.decompress(self._data))
        return report

    def __getitem__(self, key: str) -> Any:
        return self.unpack()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.unpack())

    def __len__(self) -> int:
        return len(self.unpack())


@dataclass(frozen=True)
class Commit:
    """One version.

    time: unix seconds. activates, deactivates: edit ids. target: the commit a revert takes back, the version
    a rollback returns to. report: JSON values only. previous: digest of the commit before, "" for the first.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",  # in what a commit is made of, too
        ser_json_inf_nan="constants",  # then `canonical` refuses what JSON cannot say
    )

    version: int
    kind: Kind
    author: str
    time: float
    message: str
    edits: tuple[EditRecord, ...] = ()
    activates: tuple[str, ...] = ()
    deactivates: tuple[str, ...] = ()
    target: int | None = None
    writes: Mapping[str, Write] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    previous: str = ""
    format: int = FORMAT

    @cached_property
    def encoded(self) -> bytes:
        return canonical(_JSON.dump_python(self.unpack()))

    @cached_property
    def digest(self) -> str:
        return sha256(self.encoded)

    def entries(self) -> Iterator[Entry]:
        """Every block that the commit needs, to be read or to be folded again."""
        for edit in self.edits:
            yield f"edit/{edit.id}", edit.order, edit.material
        for write in self.writes.values():
            yield from write.puts

    def packed(self) -> Commit:
        """The same, for those who hold thousands of them: without its bytes, and with its report compressed."""
        if isinstance(self.report, PackedReport):
            return self
        packed = replace(self, report=PackedReport(self.report))
        packed.__dict__["digest"] = self.digest
        return packed

    def unpack(self) -> Commit:
        """The same, with its report as a plain map."""
        return replace(self, report=self.report.unpack()) if isinstance(self.report, PackedReport) else self

    @staticmethod
    def decode(data: bytes, version: int | None = None) -> Commit:
        """The commit that `encoded` is. LedgerCorrupt when it is not one, or not the one of `version`."""
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
    advice = "nothing was changed; restore the data of Redis from a backup that is older than the damage"
    return LedgerCorrupt(f"{name} of the ledger cannot be used: {reason}; {advice}", version=version)


def _read_format(data: bytes) -> int:
    """The format number of an entry whose other fields this program may not know; 0 when it has none."""
    try:
        number = from_json(data)["format"]
    except (ValueError, TypeError, KeyError):
        return 0
    return number if isinstance(number, int) else 0


def _too_new(number: int) -> str:
    return f"it has format {number} and this program reads format {FORMAT}: start a newer Errata"


def decode_chain(entries: Sequence[StreamEntry], first: int, previous: str | None) -> list[Commit]:
    """The commits of `entries`, trusted only after their bytes, their places and their chain were checked.

    Args:
        first: the version of the first entry; the others follow without a gap.
        previous: digest of the commit before `first`; None when it is not known, so not checked.

    Raises:
        LedgerCorrupt: names the first that is not what was written.
    """
    commits = []
    for version, (id, fields) in enumerate(entries, first):
        number = int(id.partition(b"-")[0])
        if number != version:
            raise corrupt(version, f"it is missing; the next one there is {number}")
        if b"commit" not in fields:
            raise corrupt(version, "it holds no commit")
        if sha256(fields[b"commit"]).encode() != fields.get(b"digest"):
            raise corrupt(version, "its bytes are not the ones that were written")
        commit = Commit.decode(fields[b"commit"], version)
        if previous is not None and commit.previous != previous:
            raise corrupt(version, "it does not follow the commit that is stored before it")
        commits.append(commit)
        previous = commit.digest
    return commits


def data_replaced(version: int) -> LedgerCorrupt:
    """`version` is there, and is not the commit that this process knows by that number."""
    detail = f"version {version} of the ledger is not the one this process knows: its data was replaced"
    return LedgerCorrupt(f"{detail}; restore it, or start the service again", version=version)
