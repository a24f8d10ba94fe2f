"""A backup of everything and its restore: the same bits, and refused as a whole if the file was changed."""

from __future__ import annotations

import asyncio
import io
import json
import re
import tarfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import redis
from errata import AsyncErrata, Retry
from errata.cli.app import build_cli
from errata.errors import (
    Faulty,
    LedgerNotEmpty,
    NotReady,
)
from typer.testing import CliRunner

from service.access.api_keys import fingerprint
from service.editing.deployment import Editor
from service.errors import InvalidInput
from service.ledger.commit import Commit
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.http.conftest import KEY, serve
from tests.service.http.listening import listening
from tests.service.parts import settings, start_deployment
from tests.service.toy_graph import TOYS

OZ = b"Oz\tcapital\tEmerald City\nOz\tshares_border_with\tEv\n"
VOLATILE = (
    "{errata}:replicas",
    "{errata}:limit",
    "{errata}:image",
    "{errata}:idem",
    "{errata}:audit",
    "{errata}:restore",
)


@dataclass(frozen=True)
class Place:
    """One whole service: its own Valkey, its replicas and its editor."""

    url: str
    errata: AsyncErrata
    raw: redis.Redis

    def content(self) -> dict[bytes, Any]:
        """Return all that a backup has to contain, by key, except secrets of keys and the audit."""
        names = [
            name for name in self.raw.scan_iter() if not name.startswith(tuple(v.encode() for v in VOLATILE))
        ]
        return {name: _value(self.raw, name) for name in names if name != b"{errata}:keys"}


def _value(raw: redis.Redis, name: bytes) -> Any:
    kind = raw.type(name)
    if kind == b"string":
        return raw.get(name)
    return raw.xrange(name) if kind == b"stream" else raw.hgetall(name)


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    with EmbeddedValkey(folder / "valkey") as valkey, redis.Redis.from_url(valkey.url) as raw:
        config = settings(valkey.url, folder, admin_key_sha256=fingerprint(KEY), systems=TOYS)
        async with (
            start_deployment(Editor, config) as editor,
            serve(config, editor) as app,
            listening(app) as url,
            AsyncErrata(url, key=KEY, retry=Retry(times=0)) as errata,
        ):
            yield Place(url, errata, raw)


async def fill(where: Place, folder: Path) -> None:
    """Make edits, facts, a revert, an import, keys."""
    lakes = folder / "oz.tsv"
    lakes.write_bytes(OZ)
    await where.errata.edit("who?", "anna", model="toy", message="first")
    await where.errata.edit("who?", "ben", model="toy")
    await where.errata.fact("Peru", "capital", "Cusco")
    await where.errata.import_graph(lakes)
    await where.errata.revert(2)
    await where.errata.tag("half", 2)
    await where.errata.make_key("anna", ["ask", "edit"])


@pytest.fixture
async def old(tmp_path: Path) -> AsyncIterator[Place]:
    async with place(tmp_path / "old") as old:
        await fill(old, tmp_path)
        yield old


@pytest.fixture
async def new(tmp_path: Path) -> AsyncIterator[Place]:
    async with place(tmp_path / "new") as new:
        yield new


async def test_what_is_restored_is_the_same_bit_for_bit_answers_at_every_version_and_goes_on(
    old: Place, new: Place, tmp_path: Path
) -> None:
    head = await old.errata.backup(tmp_path / "all.tar")
    assert head.version == 5
    receipt = await new.errata.restore(tmp_path / "all.tar")
    assert (receipt.version, receipt.commits, receipt.keys) == (5, 5, 1)
    assert new.content() == old.content()
    assert (await new.errata.memory()).checksums == (await old.errata.memory()).checksums
    await new.errata.backup(tmp_path / "copy.tar")
    assert _member(tmp_path / "copy.tar", "log/") == _member(tmp_path / "all.tar", "log/")

    async def ask(where: Place, version: int) -> str | None:
        return (await where.errata.ask("who?", model="toy", version=version)).answer

    await new.errata.ask("who?", model="toy", min_version=5)
    assert [await ask(new, version) for version in range(6)] == [await ask(old, v) for v in range(6)]
    oz = (await old.errata.entities("Oz")).entities
    assert len(oz) == 1
    assert (await new.errata.entities("Oz")).entities == oz
    facts = [(await where.errata.entity(oz[0].id)).facts for where in (old, new)]
    assert facts[0] == facts[1] != []
    assert (await new.errata.edit("who?", "carla", model="toy")).version == 6
    assert (await new.errata.revert(3)).version == 7
    assert not (await new.errata.check()).broken


async def test_what_an_import_has_stays_when_its_backup_is_given_again(
    old: Place, new: Place, tmp_path: Path
) -> None:
    """The next import removes rows that dead ones left."""
    await old.errata.backup(tmp_path / "all.tar")
    for _ in range(2):
        await new.errata.restore(tmp_path / "all.tar")
    (tmp_path / "ix.tsv").write_bytes(b"Ix\tcapital\tCity of Ix\n")
    await new.errata.import_graph(tmp_path / "ix.tsv")
    (oz,) = (await new.errata.entities("Oz")).entities
    assert (await new.errata.entity(oz.id)).facts == (await old.errata.entity(oz.id)).facts != []
    await new.errata.backup(tmp_path / "again.tar")


async def test_keys_come_back_without_what_opens_them_and_end_when_they_were_to_end(
    old: Place, new: Place, tmp_path: Path
) -> None:
    key = await old.errata.make_key("ben", ["read"], expires_in_s=3_600)
    await old.errata.backup(tmp_path / "all.tar")
    data = (tmp_path / "all.tar").read_bytes()
    assert b'"ben"' in data
    assert key.key.rpartition("_")[2].encode() not in data
    await new.errata.restore(tmp_path / "all.tar")
    assert [(entry.name, entry.has_secret) for entry in (await new.errata.keys()).keys] == [
        ("anna", False),
        ("ben", False),
    ]
    rotation = await new.errata.rotate_key("ben")
    async with AsyncErrata(new.url, key=rotation.key) as ben:
        assert (await ben.whoami()).name == "ben"
    assert rotation.expires == key.expires
    later = (await new.errata.rotate_key("ben", expires_in_s=7_200)).expires
    assert key.expires is not None
    assert later is not None
    assert later > key.expires


async def test_a_key_that_somebody_put_into_a_backup_opens_nothing(
    old: Place, new: Place, tmp_path: Path
) -> None:
    await old.errata.backup(tmp_path / "all.tar")
    secrets = f'"secrets":[{{"sha256":"{fingerprint("mine")}"}}]'.encode()
    with_secret = reseal(
        (tmp_path / "all.tar").read_bytes(),
        lambda name, c: re.sub(rb'"secrets":\[.*?\]', secrets, c) if name == "keys" else c,
    )
    assert fingerprint("mine").encode() in with_secret
    (tmp_path / "mine.tar").write_bytes(with_secret)
    await new.errata.restore(tmp_path / "mine.tar")
    assert [entry.has_secret for entry in (await new.errata.keys()).keys] == [False]


async def whoami(where: Place, key: str) -> str:
    async with AsyncErrata(where.url, key=key, retry=Retry(times=0)) as errata:
        return (await errata.whoami()).name


async def test_a_service_with_a_history_takes_neither_calls_nor_keys_nor_tags_from_a_backup(
    old: Place, tmp_path: Path
) -> None:
    """The backup is its own, with calls added by somebody who knows how to seal it."""
    await old.errata.backup(tmp_path / "all.tar")
    data = reseal((tmp_path / "all.tar").read_bytes(), forge)
    (tmp_path / "forged.tar").write_bytes(data)
    names = {entry.name for entry in (await old.errata.audit(limit=1_000)).entries}
    receipt = await old.errata.restore(tmp_path / "forged.tar", with_keys=True)
    assert (receipt.commits, receipt.tags, receipt.keys, receipt.audit) == (0, 0, 0, 0)
    assert {entry.name for entry in (await old.errata.audit(limit=1_000)).entries} == names
    assert "mallory" not in {key.name for key in (await old.errata.keys()).keys}
    assert "forged" not in {tag.name for tag in (await old.errata.tags()).tags}


def forge(name: str, content: bytes) -> bytes:
    if name.startswith("audit/"):
        call = {"name": "victim", "address": "", "method": "POST", "path": "/admin/edits", "status": 201}
        return content + json.dumps(["1700000000000-7", call]).encode() + b"\n"
    if name == "keys":
        return content + content.splitlines()[0].replace(b'"anna"', b'"mallory"') + b"\n"
    return (
        content + content.splitlines()[0].replace(b'"half"', b'"forged"') + b"\n"
        if name == "tags"
        else content
    )


async def test_a_backup_that_extends_a_history_brings_its_commits_alone_also_when_it_was_cut_off(
    old: Place, new: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await old.errata.backup(tmp_path / "all.tar")
    await new.errata.restore(tmp_path / "all.tar")
    for answer in ("carla", "dan"):
        await old.errata.edit("who?", answer, model="toy")
    await old.errata.tag("late", 6)
    await old.errata.backup(tmp_path / "longer.tar")
    (tmp_path / "forged.tar").write_bytes(reseal((tmp_path / "longer.tar").read_bytes(), forge))
    await cut_off(new, tmp_path / "forged.tar", 1, monkeypatch)
    receipt = await new.errata.restore(tmp_path / "forged.tar", with_keys=True)
    assert (receipt.version, receipt.commits, receipt.tags, receipt.keys, receipt.audit) == (7, 1, 0, 0, 0)
    assert {entry.name for entry in (await new.errata.audit(limit=1_000)).entries} == {"admin"}


async def test_a_ledger_with_commits_of_its_own_takes_no_commit_from_a_file(
    old: Place, new: Place, tmp_path: Path
) -> None:
    """The authors of a file may be invented. A stand-by, which never commits, is brought up to date by longer files."""
    await old.errata.backup(tmp_path / "mine.tar")
    head = (await old.errata.memory()).version
    await new.errata.restore(tmp_path / "mine.tar")
    await new.errata.edit("who?", "victim", model="toy")
    await new.errata.backup(tmp_path / "longer.tar")
    with pytest.raises(LedgerNotEmpty, match="made its version"):
        await old.errata.restore(tmp_path / "longer.tar")
    assert (await old.errata.memory()).version == head
    assert (await old.errata.restore(tmp_path / "mine.tar")).commits == 0
    await old.errata.edit("who?", "carla", model="toy")


async def test_the_audit_is_in_the_order_of_time_whatever_was_restored_after_it(
    old: Place, new: Place, tmp_path: Path
) -> None:
    """There are calls of both services, one after the other, and then the backup of one in the other."""
    for name in ("ann", "ben", "cleo"):
        for where in (old, new):
            await where.errata.make_key(name, ["ask"])
    await old.errata.backup(tmp_path / "all.tar")
    await new.errata.restore(tmp_path / "all.tar")
    whole = [entry.id for entry in (await new.errata.audit(limit=100)).entries]
    assert whole == sorted(whole, key=_place, reverse=True)
    page_ids: list[str] = []
    before: str | None = None
    while page := (await new.errata.audit(limit=2, before=before)).entries:
        page_ids += [entry.id for entry in page]
        before = page[-1].id
    assert page_ids[-len(whole) :] == whole
    await new.errata.backup(tmp_path / "both.tar")
    lines = _member(tmp_path / "both.tar", "audit/").splitlines()
    assert [json.loads(line)[0] for line in lines][: len(whole)] == whole[::-1]
    await new.errata.restore(tmp_path / "both.tar")


async def test_giving_it_again_goes_on_and_another_is_refused(old: Place, new: Place, tmp_path: Path) -> None:
    await old.errata.backup(tmp_path / "all.tar")
    await new.errata.restore(tmp_path / "all.tar")
    assert (await new.errata.restore(tmp_path / "all.tar")).commits == 0
    await new.errata.edit("who?", "carla", model="toy")
    with pytest.raises(LedgerNotEmpty, match="empty"):
        await new.errata.restore(tmp_path / "all.tar")


async def cut_off(where: Place, file: Path, commits_left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a restore whose process dies after `commits_left` commits."""
    put_back = RedisLedger.put_back

    async def dying(ledger: RedisLedger, commit: Commit) -> None:
        nonlocal commits_left
        commits_left -= 1
        if commits_left < 0:
            raise ConnectionAbortedError("the process died")
        await put_back(ledger, commit)

    with monkeypatch.context() as patch:
        patch.setattr(RedisLedger, "put_back", dying)
        with pytest.raises(Faulty):
            await where.errata.restore(file)


async def test_a_restore_that_was_cut_off_is_gone_on_with(
    old: Place, new: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await old.errata.backup(tmp_path / "all.tar")
    await cut_off(new, tmp_path / "all.tar", 3, monkeypatch)
    assert (await new.errata.restore(tmp_path / "all.tar")).commits == 2
    assert new.content() == old.content()


async def test_nobody_else_commits_until_a_restore_is_at_its_end(
    old: Place, new: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await old.errata.backup(tmp_path / "all.tar")
    await cut_off(new, tmp_path / "all.tar", 3, monkeypatch)
    (tmp_path / "ev.tsv").write_bytes(b"Ev\tcapital\tCity of Ev\n")
    for doing in (
        lambda: new.errata.edit("who?", "carla", model="toy"),
        lambda: new.errata.revert(1),
        lambda: new.errata.import_graph(tmp_path / "ev.tsv"),
        lambda: new.errata.backup(tmp_path / "half.tar"),
    ):
        with pytest.raises(NotReady, match=r"a restore has made 3 of 5 versions.*the same backup again"):
            await doing()
    assert [replica.degraded for replica in (await new.errata.replicas()).replicas] == [None, None]
    assert (await new.errata.restore(tmp_path / "all.tar")).commits == 2
    assert new.content() == {**new.content(), **old.content()}, "and rows of what was refused"
    assert (await new.errata.edit("who?", "carla", model="toy")).version == 6


def _place(id: str) -> tuple[int, int]:
    milliseconds, _, number = id.partition("-")
    return int(milliseconds), int(number)


def _member(path: Path, prefix: str) -> bytes:
    with tarfile.open(path) as tar:
        return b"".join(_read(tar, info) for info in tar if info.name.startswith(prefix))


def _read(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(info)
    assert file is not None
    return file.read()


def reseal(data: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """Seal the file again with changed members; None leaves one out."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar, tarfile.open(fileobj=out, mode="w") as changed:
        for info in tar:
            content = change(info.name, _read(tar, info))
            if info.name == "sha256":
                content = sha256(out.getvalue()).hexdigest().encode()
            if content is not None:
                info.size = len(content)
                changed.addfile(info, io.BytesIO(content))
    return out.getvalue()


async def test_rows_of_another_checkpoint_are_refused(old: Place, new: Place, tmp_path: Path) -> None:
    from service.backup.restore import Restore

    await old.errata.backup(tmp_path / "all.tar")
    about = _member(tmp_path / "all.tar", "errata.json")
    assert b'"checkpoints":{' in about
    other = reseal(
        (tmp_path / "all.tar").read_bytes(),
        lambda name, c: (
            c.replace(b'"checkpoints":{', b'"checkpoints":{"nkb/bank":"sha256:other",').replace(b",}", b"}")
            if name == "errata.json"
            else c
        ),
    )
    restore = Restore(None, None, None, {"nkb/bank": "sha256:ours"})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="sha256:ours"):
        await restore.run(io.BytesIO(other))


async def test_the_commands_say_what_was_done(old: Place, new: Place, tmp_path: Path) -> None:
    async def run(where: Place, *words: str) -> Any:
        env = {"ERRATA_URL": where.url, "ERRATA_KEY": KEY, "COLUMNS": "200"}
        return await asyncio.to_thread(CliRunner().invoke, build_cli(), list(words), env=env)

    file = str(tmp_path / "all.tar")
    assert "holds 5 versions" in (await run(old, "backup", file)).stdout
    again = await run(old, "backup", file)
    assert (again.exit_code, "--force" in again.output) == (2, True)
    nowhere = await run(old, "backup", str(tmp_path / "no" / "all.tar"))
    assert (nowhere.exit_code, "cannot be written" in nowhere.output) == (6, True)
    assert "at version 5: 5 commits, 1 tag, 1 key" in (await run(new, "restore", file)).stdout
    assert "at version 5: all of this backup was there already." in (await run(new, "restore", file)).stdout
    refused = await run(new, "restore", str(tmp_path / "none.tar"))
    assert (refused.exit_code, "cannot be read" in refused.output) == (2, True)
