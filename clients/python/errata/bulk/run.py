"""A file of corrections on its way into the service: looked at whole, then committed some hundred lines at a time.

Each commit has an Idempotency-Key that follows from the file's content, what was asked for and the commit's number. So
whoever starts the same again, after whatever broke off at whatever moment, finds what was made already by its key and
makes the rest; nothing is made twice. Written once for both clients: `send` is theirs.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from errata.bulk.batch import Chunk, refused_by
from errata.bulk.duplicates import settle
from errata.bulk.line import Line, Status
from errata.bulk.options import FileOptions, RunSettings
from errata.bulk.reader import Reader
from errata.calls import Calls
from errata.calls.edits import EditOptions
from errata.errors import BadFile, EditRefused, ErrataError, Malformed, NothingToDo, Refused
from errata.files import Progress
from errata.problems import unsendable
from errata.request import Call, Reply
from errata.wire import MAX_BATCH, MAX_PREVIEW_EDITS, EditItem, EditReceipt, ImportProgress

CHECKING, EDITING, ASKING = "checking", "editing", "asking"
SINCE = "since version {} it is answered {!r}"
GO_ON = "run the same file again, in the same way: what was made is found and nothing is made twice"

Send = Callable[[Call[Any]], Awaitable[Reply[Any]]]
Hear = Callable[[bytes], None]


class FileRun:
    """What a file asks for and what has become of it so far; `lines` says so of each.

    versions: that were made of it, in this run or before. earlier: those that were there before this run.
    taken_back: that were made of it before, and that nothing rests on any more.
    receipts: of all commits, in their order, or what a dry run said.
    """

    def __init__(self, file: str | Path, **how: Unpack[FileOptions]) -> None:
        """Read and checked, and nothing is sent. BadFile, UnreadableFile, Malformed."""
        self.file, self.options = Path(file), RunSettings(how)
        options = self.options
        self.lines, self._digest = Reader(self.file, options.model, options.teach_rephrased).read()
        settle(self.lines)
        starts = range(0, len(self.lines), options.together)
        lines = [self.lines[start : start + options.together] for start in starts]
        self._chunks = [Chunk(number, some) for number, some in enumerate(lines, start=1)]
        self.versions: list[int] = []
        self.earlier: set[int] = set()
        self.taken_back: list[int] = []
        self.receipts: list[EditReceipt] = []
        self._made: dict[tuple[int | None, str], Line] = {}
        self._head, self._begun = 0, False

    def count(self, status: Status) -> int:
        return sum(line.status == status for line in self.lines)

    async def go(self, calls: Calls, send: Send, progress: Progress | None, hear: Hear | None) -> None:
        """All that is not made yet. Raises what keeps it from going on; `lines` then say how far it came.

        hear: told what the service answers to each commit, as it came.
        """
        if self._begun:
            raise unsendable(
                f"this run of {self.file} has been begun: make another FileRun, it goes on from there"
            )
        self._begun, self._calls, self._send = True, calls, send
        self._tell, self._hear = progress or _ignore, hear or _ignore
        self.refuse_bad("cannot be used")
        try:
            self._head = (await send(calls.log(limit=1))).value.head
            if not self.options.skip_bad:
                await self._look()
            await self._commit()
            if not self.options.dry_run:
                await self._ask()
        except ErrataError as error:
            if error.in_doubt:
                error.idempotency_key, error.remedy = None, GO_ON
            raise

    def refuse_bad(self, what: str) -> None:
        """BadFile, unless bad lines are to be left out."""
        bad = [line for line in self.lines if line.status == "refused"]
        if bad and not self.options.skip_bad:
            what = what.replace("are ", "is ", 1) if len(bad) == 1 else what
            head = f"{len(bad):,} of {_lines(self.lines)} {what}; nothing was changed"
            raise BadFile(head, [f"{line.where}: {line.detail}" for line in bad])

    async def _look(self) -> None:
        """Nothing is committed before the service has said of every line that it can be made."""
        done = 0
        for chunk in self._chunks:
            self._told(CHECKING, done)
            if chunk.lines:
                await self._look_at(chunk)
            done += chunk.size
        if len(self._chunks) > 1:
            self._told(CHECKING, done)
            for chunk in self._together():
                await self._look_at(chunk)
        self.refuse_bad("are refused by the service")

    def _together(self) -> Iterator[Chunk]:
        """What is not made yet, as much of it as can be looked at: a line may be answered for by one far from it."""
        left = [line for chunk in self._chunks if not chunk.found for line in chunk.lines if line.open]
        corrections = [line for line in left if isinstance(line.item, EditItem)]
        for start in range(0, len(corrections), MAX_PREVIEW_EDITS):
            yield Chunk(0, corrections[start : start + MAX_PREVIEW_EDITS])

    async def _look_at(self, chunk: Chunk) -> None:
        how = self._how(chunk) | EditOptions(dry_run=True, measure=False)
        reply = await self._send(self._calls.edit_many(chunk.items, **how))
        if reply.value.version is not None:
            chunk.found = reply
            return
        for one in reply.value.report.refused:
            line, detail = chunk.lines[one.place], chunk.in_lines(one.detail)
            line.status, line.code, line.detail = "refused", one.reason or one.code, detail

    async def _commit(self) -> None:
        expected, done = self.options.expected_version, 0
        for chunk in self._chunks:
            self._told(EDITING, done)
            if chunk.lines:
                made = await self._make(chunk, expected)
                expected = made if made is not None and expected is not None else expected
            done += chunk.size
        self._told(EDITING, done)

    async def _make(self, chunk: Chunk, expected: int | None) -> int | None:
        """The version that the chunk is, None where there was nothing to do."""
        gone: tuple[int, ...] = ()
        while True:
            try:
                reply = chunk.found or await self._send(self._edits(chunk, expected, gone))
            except NothingToDo as error:
                self._hear(error.problem.model_dump_json(exclude_unset=True).encode())
                chunk.nothing(error)
                return None
            except (EditRefused, Malformed) as error:
                raise self._in_lines(chunk, error) from error
            version, chunk.found = reply.value.version, None
            if version is None or not await self._is_gone(version):
                break
            if not self.options.again:
                self.taken_back.append(version)
                break
            gone = (*gone, version)
        self._hear(reply.raw)
        if version is not None and version in self.taken_back:
            chunk.taken_back(version)
        else:
            self._keep(chunk, reply.value)
        return version

    def _keep(self, chunk: Chunk, receipt: EditReceipt) -> None:
        chunk.done(receipt)
        self._made |= {(line.version, line.question): line for line in chunk.lines if line.version}
        for test in (*receipt.report.broken_tests, *receipt.report.superseded_tests):
            line = self._made.get((test.version, test.question))
            if line is not None:
                line.holds = False
                line.warnings.append(SINCE.format(receipt.version, test.actual))
        self.receipts.append(receipt)
        if receipt.version is not None:
            self.versions.append(receipt.version)
            if receipt.version <= self._head:
                self.earlier.add(receipt.version)

    async def _is_gone(self, version: int) -> bool:
        """Whether it was made before this run, and taken back since."""
        if version > self._head:
            return False
        edits = (await self._send(self._calls.show(version))).value.edits
        return bool(edits) and not any(edit.active for edit in edits)

    def _in_lines(self, chunk: Chunk, error: Refused) -> ErrataError:
        """What only a commit could tell, with the lines that it is about."""
        chunk.refuse(refused_by(error))
        told = [f"{line.where}: {line.detail}" for line in chunk.lines if line.status == "refused"]
        return BadFile(f"a commit was refused: {chunk.in_lines(error.sentence)}", told) if told else error

    async def _ask(self) -> None:
        """The wordings that were held back, of the lines that are in force at the end."""
        in_force = [line for line in self.lines if line.status in ("done", "no-op")]
        questions = [(line, wording) for line in in_force for wording in line.rephrased]
        waiting, done = iter(questions), 0
        while some := list(islice(waiting, MAX_BATCH)):
            self._told(ASKING, done, len(questions))
            asked = [{"question": wording, "model": _model(line)} for line, wording in some]
            results = (await self._send(self._calls.ask_many(asked))).value.results
            for (line, _), result in zip(some, results, strict=True):
                line.asked += 1
                line.came_out += result.answer is not None and _same(result.answer.answer, line.answer)
            done += len(some)

    def _edits(self, chunk: Chunk, expected: int | None, gone: tuple[int, ...]) -> Call[EditReceipt]:
        how = self._how(chunk, gone) | EditOptions(skip_refused=self.options.skip_bad)
        if expected is not None:
            how["expected_version"] = expected
        return self._calls.edit_many(chunk.items, **how)

    def _how(self, chunk: Chunk, gone: tuple[int, ...] = ()) -> EditOptions:
        """gone: versions that this chunk was before and that were taken back."""
        named = json.dumps([self._digest, *self.options.names_the_run, chunk.number, *gone])
        digest = sha256(named.encode()).hexdigest()
        return self.options.commit | EditOptions(idempotency_key=f"file-{digest[:32]}-{chunk.number}")

    def _told(self, phase: str, done: int, total: int | None = None) -> None:
        self._tell(ImportProgress(phase=phase, done=done, total=len(self.lines) if total is None else total))


def run_of(file: str | Path | FileRun, how: FileOptions) -> FileRun:
    return file if isinstance(file, FileRun) else FileRun(file, **how)


def _lines(lines: list[Line]) -> str:
    return "1 line" if len(lines) == 1 else f"{len(lines):,} lines"


def _model(line: Line) -> str:
    return line.item.model if isinstance(line.item, EditItem) else "nkb"


def _same(answer: str | None, wanted: str) -> bool:
    return answer is not None and _spelt(answer) == _spelt(wanted)


def _spelt(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _ignore(_: object) -> None:
    pass
