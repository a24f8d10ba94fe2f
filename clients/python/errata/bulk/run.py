"""A file of corrections on its way into the service: checked whole, then committed some hundred lines at a time.

Each commit has an Idempotency-Key that follows from the file's content, the options and the commit's number. So the
same run, started again after any interruption, finds its earlier commits by their keys and makes the others; no
commit is made twice. Both clients share this code and pass their `send`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Unpack, cast

from errata import wire
from errata.bulk.batch import Batch, divide, foresee, mark_active, mark_duplicates
from errata.bulk.line import Line, Status
from errata.bulk.options import DEFAULTS, OF_COMMITS, FileOptions
from errata.bulk.reader import read_corrections
from errata.calls import Calls
from errata.calls.edit import EditOptions
from errata.errors import BadFile, EditRefused, ErrataError, Malformed, NothingToDo
from errata.files import Progress, ignore
from errata.problems import unsendable
from errata.request import Call, Reply

CHECKING, EDITING = "checking", "editing"
REMEDY = "run the same file again, in the same way: what was made is found and nothing is made twice"

Send = Callable[[Call[Any]], Awaitable[Reply[Any]]]
OnReply = Callable[[bytes], None]


class FileRun:
    """The run of a file, and the outcome of each of its `lines`.

    Attributes:
        reverted_versions: Versions of its earlier commits of which no edit is active any more.
    """

    def __init__(
        self, file: str | Path, content: bytes | None = None, **options: Unpack[FileOptions]
    ) -> None:
        """Read and check the file, or its `content`; raise BadFile, UnreadableFile or Malformed."""
        self.file, self.options = Path(file), DEFAULTS | options
        size, sheet, max_lines = self.options["batch_size"], self.options["sheet"], self.options["max_lines"]
        if not 1 <= size <= wire.MAX_EDITS:
            raise unsendable(f"one commit takes 1 to {wire.MAX_EDITS:,} lines, not {size:,} together")
        self.lines, self._digest = read_corrections(
            self.file, self.options["model"], sheet, content, max_lines
        )
        self._is_export = any(line.origin.version for line in self.lines)
        if not self._is_export:
            mark_duplicates(self.lines)
        self._batches = divide(self.lines, self.options["batch_size"])
        self._ids: dict[str, str] = {}  # id of an edit in an export -> its id in the service
        self.reverted_versions: list[int] = []
        self._line_of_test: dict[tuple[int | None, str], Line] = {}
        self._head, self._has_begun = 0, False

    @property
    def receipts(self) -> list[wire.EditReceipt]:
        """The receipts of all commits, in order, or of the dry run."""
        return [batch.receipt for batch in self._batches if batch.receipt is not None]

    @property
    def versions(self) -> list[int]:
        """The versions of its commits, from this run or before."""
        return [receipt.version for receipt in self.receipts if receipt.version is not None]

    @property
    def earlier_versions(self) -> set[int]:
        """The versions of its commits that existed before this run."""
        return {version for version in self.versions if version <= self._head}

    def count(self, status: Status) -> int:
        return sum(line.status == status for line in self.lines)

    async def go(self, calls: Calls, send: Send, progress: Progress | None, on_reply: OnReply | None) -> None:
        """Make the missing commits. An error stops it; `lines` then tell how far it came."""
        if self._has_begun:
            raise unsendable(
                f"this run of {self.file} has been begun: make another FileRun, it goes on from there"
            )
        self._has_begun, self._calls, self._send = True, calls, send
        self._progress, self._on_reply = progress or ignore, on_reply or ignore
        self._refuse_bad_lines("cannot be used")
        try:
            self._head = (await send(calls.log(limit=1))).value.head
            if self._is_export:
                self._ids = mark_active(self.lines, (await send(calls.active_edits())).value.edits)
                self._batches = divide(self.lines, self.options["batch_size"])
            if not self.options["skip_bad"]:
                await self._preview()
            expected_version = self.options["expected_version"]
            for batch in self._iterate_batches(EDITING):
                version = await self._commit(batch, expected_version)
                if version is not None and expected_version is not None:
                    expected_version = version
            if self._is_export and self.options["dry_run"]:
                foresee(self.lines)
            if not self.options["dry_run"]:
                await self._read_reports()
        except ErrataError as error:
            if error.in_doubt:
                error.idempotency_key, error.remedy = None, REMEDY
            raise

    def _refuse_bad_lines(self, predicate: str) -> None:
        """Raise BadFile if there are bad lines and they are not to be left out."""
        bad_lines = [line for line in self.lines if line.status == "refused"]
        if bad_lines and not self.options["skip_bad"]:
            predicate = predicate.replace("are ", "is ", 1) if len(bad_lines) == 1 else predicate
            total = "1 line" if len(self.lines) == 1 else f"{len(self.lines):,} lines"
            sentence = f"{len(bad_lines):,} of {total} {predicate}; nothing was changed"
            raise BadFile(sentence, [f"{line.where}: {line.detail}" for line in bad_lines])

    async def _preview(self) -> None:
        """Let the service check every line before anything is committed."""
        for batch in self._iterate_batches(CHECKING):
            await self._preview_batch(batch, batch.list_items({}))
        if len(self._batches) > 1 and not self._is_export:
            # All are checked together, as many as one preview takes: an edit may depend on one far from it in the
            # file. Their tests have no part in it and could make it too large. In an export later lines may take the
            # place of earlier ones.
            corrections = [
                line
                for batch in self._batches
                if not batch.earlier_reply
                for line in batch.lines
                if line.is_pending and isinstance(line.item, wire.EditItem)
            ]
            for start in range(0, len(corrections), wire.MAX_PREVIEW_EDITS):
                batch = Batch(0, corrections[start : start + wire.MAX_PREVIEW_EDITS])
                without_tests = [item.model_copy(update={"tests": []}) for item in batch.list_items({})]
                await self._preview_batch(batch, without_tests)
        self._refuse_bad_lines("are refused by the service")

    async def _preview_batch(self, batch: Batch, items: Sequence[wire.Item]) -> None:
        options = self._commit_options(batch) | EditOptions(dry_run=True, measure=False)
        reply = await self._send(self._calls.edit_many(items, **options))
        if reply.value.version is not None:
            batch.earlier_reply = reply
            return
        for edit in reply.value.report.refused:
            line = batch.lines[edit.place]
            if not self._is_export or edit.code != "nothing_to_do":  # an earlier commit of it may change that
                line.status, line.code = "refused", edit.reason or edit.code
                line.detail = batch.name_lines(edit.detail)

    async def _commit(self, batch: Batch, expected_version: int | None) -> int | None:
        """Return the version of the batch, None if there was nothing to do."""
        reverted_versions: tuple[int, ...] = ()
        while True:
            options = self._commit_options(batch, reverted_versions)
            options |= EditOptions(skip_refused=self.options["skip_bad"], expected_version=expected_version)
            try:
                items = batch.list_items(self._ids)
                reply = batch.earlier_reply or await self._send(self._calls.edit_many(items, **options))
            except NothingToDo as error:
                if self._is_export and batch.leave_out(error.extra_list("refused", wire.RefusedEdit)):
                    continue
                self._on_reply(error.problem.model_dump_json(exclude_unset=True).encode())
                batch.record_no_op(error)
                return None
            except (EditRefused, Malformed) as error:
                batch.refuse(error.extra_list("refused", wire.RefusedEdit))
                reasons = [f"{line.where}: {line.detail}" for line in batch.lines if line.status == "refused"]
                if not reasons:
                    raise
                raise BadFile(f"a commit was refused: {batch.name_lines(error.sentence)}", reasons) from error
            version: int | None = reply.value.version
            batch.earlier_reply = None
            if version is None or version > self._head:
                break
            edits = (await self._send(self._calls.show(version))).value.edits
            if not edits or any(edit.active for edit in edits):  # it was made before this run, and is active
                break
            if not self.options["again"]:
                self.reverted_versions.append(version)
                break
            reverted_versions = (*reverted_versions, version)
        self._on_reply(reply.raw)
        if version is not None and version in self.reverted_versions:
            batch.record_reverted(version)
        else:
            batch.record(reply.value)
            self._record(batch, reply.value)
        return version

    def _record(self, batch: Batch, receipt: wire.EditReceipt) -> None:
        """Note a receipt on earlier lines of the file whose answers its commit changes."""
        for edit in receipt.report.edits:
            if edit.id and edit.place is not None and edit.place < len(batch.lines):
                origin = batch.lines[edit.place].origin
                self._ids |= {origin.id: edit.id} if origin.id else {}
        self._line_of_test |= {(line.version, line.question): line for line in batch.lines if line.version}
        for test in (*receipt.report.broken_tests, *receipt.report.superseded_tests):
            line = self._line_of_test.get((test.version, test.question))
            if line is not None:
                line.holds = False
                line.warnings.append(f"since version {receipt.version} it is answered {test.after!r}")

    async def _read_reports(self) -> None:
        """Read the reports that were completed after their commits, unless the run does not wait for them."""
        for batch in self._batches if self.options["wait_report"] else ():
            receipt = batch.receipt
            if receipt and receipt.version and receipt.report.report_state == "measuring":
                detail = await self._send(self._calls.show(receipt.version, wait_report=True))
                batch.complete(receipt, wire.Report.model_validate(detail.value.report))

    def _commit_options(self, batch: Batch, reverted_versions: tuple[int, ...] = ()) -> EditOptions:
        """Return the options of the batch's commit.

        Earlier versions that were taken back, and lines that are left out as they are active, change its key.
        """
        of_run, settings = self.options, sorted(self.options.get("options", {}).items())
        run_key, sheet = of_run["idempotency_key"] or "", [of_run["sheet"]] * bool(of_run["sheet"])
        identity: list[object] = [self._digest, run_key, of_run["message"], of_run.get("method"), *settings]
        identity += [of_run["model"], of_run["batch_size"], *sheet, batch.number, *reverted_versions]
        identity += [[line.number for line in batch.active_lines]] if batch.active_lines else []
        digest = sha256(json.dumps(identity).encode()).hexdigest()
        options = EditOptions(idempotency_key=f"file-{digest[:32]}-{batch.number}")
        if batch.method:
            options["method"] = batch.method
        fields = {name: value for name, value in of_run.items() if name in OF_COMMITS}
        return cast(EditOptions, fields) | options

    def _iterate_batches(self, phase: str) -> Iterator[Batch]:
        """Yield the batches that have lines to send, and report the progress before each and at the end."""
        n_done, total = 0, len(self.lines)
        for batch in self._batches:
            self._progress(wire.ImportProgress(phase=phase, done=n_done, total=total))
            if batch.lines:
                yield batch
            n_done += batch.size
        self._progress(wire.ImportProgress(phase=phase, done=total, total=total))
