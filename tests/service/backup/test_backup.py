"""A backup of everything and its restore: the same bits, and refused as a whole if the file was changed."""

import asyncio
import io
import json
import os
import re
import tarfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import torch
from errata import AsyncErrata, Retry
from errata.cli.app import build_cli
from errata.errors import (
    ErrataError,
    LedgerNotEmpty,
    Malformed,
    NotErrata,
    NotReady,
    ServerError,
    Unauthorized,
    UnwritableFile,
)
from typer.testing import CliRunner

from models.blocks import Block
from models.graph.blocks import IMPORT
from service.access.api_keys import fingerprint
from service.editing.editor import Editor
from service.errors import InvalidInput
from service.errors import NotReady as NotStarted
from service.graph.imports.bucket_builder import chunk, chunk_of
from service.ledger.commit import Commit
from service.ledger.store import RedisLedger
from tests.service.conftest import start_valkey
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
    "{errata}:hits",
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
    if kind == b"zset":
        return raw.zrange(name, 0, -1, withscores=True)
    return raw.xrange(name) if kind == b"stream" else raw.hgetall(name)


@asynccontextmanager
async def place(folder: Path, **parts: Any) -> AsyncIterator[Place]:
    with start_valkey() as valkey, redis.Redis.from_url(valkey.url) as raw:
        config = settings(valkey.url, folder, admin_key_sha256=fingerprint(KEY), systems=TOYS)
        async with (
            start_deployment(Editor, config) as editor,
            serve(config, editor, **parts) as app,
            listening(app) as url,
            AsyncErrata(url, key=KEY, retry=Retry(times=0)) as errata,
        ):
            yield Place(url, errata, raw)


async def fill(where: Place, folder: Path) -> None:
    """Make edits, facts, a revert, an import, keys."""
    lakes = folder / "oz.tsv"
    lakes.write_bytes(OZ)
    await where.errata.edit("who?", "anna", model="toy", message="first")
    await where.errata.edit("who?", "ben", model="toy", review=date(9000, 1, 1))
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


class Absent:
    """A model that is being started again."""

    async def describe(self) -> dict[str, Any]:
        raise NotStarted("it is being started again")


async def test_a_backup_is_made_and_restored_while_a_model_is_down(tmp_path: Path) -> None:
    async with place(tmp_path / "old", down=Absent()) as old, place(tmp_path / "new", down=Absent()) as new:
        await fill(old, tmp_path)
        await old.errata.backup(tmp_path / "all.tar")
        assert b'"toy' in _member(tmp_path / "all.tar", "errata.json")
        assert (await new.errata.restore(tmp_path / "all.tar")).version == 5
        assert (await new.errata.memory()).checksums == (await old.errata.memory()).checksums


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


async def test_who_restores_a_backup_of_his_own_may_let_its_keys_go_on(
    old: Place, new: Place, tmp_path: Path
) -> None:
    ben, cleo = [await old.errata.make_key(name, ["read"]) for name in ("ben", "cleo")]
    await old.errata.revoke_key("cleo")
    await old.errata.backup(tmp_path / "all.tar")
    await new.errata.restore(tmp_path / "all.tar", with_keys=True)
    assert await whoami(new, ben.key) == "ben"
    with pytest.raises(Unauthorized):
        await whoami(new, cleo.key)


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
    with pytest.raises(LedgerNotEmpty, match="made its version"):  # one that brings nothing lowers no guard
        await old.errata.restore(tmp_path / "longer.tar")
    await old.errata.edit("who?", "carla", model="toy")


async def test_entries_that_a_backup_brought_say_so(old: Place, new: Place, tmp_path: Path) -> None:
    await old.errata.backup(tmp_path / "all.tar")
    await new.errata.restore(tmp_path / "all.tar")
    edits = (await new.errata.audit(path="/admin/edits")).entries
    (restore,) = (await new.errata.audit(path="/admin/import")).entries
    assert [entry.restored for entry in edits] == [True, True, True]
    assert not restore.restored


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
        with pytest.raises(ServerError):
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


TOO_DEEP = b"[" * 100_000 + b"]" * 100_000
SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty tar": lambda data: bytes(1024),
    "no tar": lambda data: b"not a tar at all" * 100,
    "cut": lambda data: data[: len(data) // 2],
    "cut before the seal": lambda data: data[:-2048],
    "one bit": lambda data: data[:5_000] + bytes([data[5_000] ^ 1]) + data[5_001:],
    "a block less": lambda data: reseal(data, lambda name, c: None if name.startswith("blocks/") else c),
    "a piece less": lambda data: reseal(data, lambda name, c: None if name.startswith("graph/") else c),
    "a list of names less": lambda data: reseal(
        data, lambda name, c: None if name.startswith("names/") else c
    ),
    "another fact": lambda data: reseal(
        data, lambda name, c: c[:-1] + bytes([c[-1] ^ 1]) if name.startswith("graph/") else c
    ),
    "another author": lambda data: reseal(
        data, lambda name, c: c.replace(b'"author":"admin"', b'"author":"mallo"') if "log/" in name else c
    ),
    "another answer": lambda data: reseal(
        data, lambda name, c: c[:-1] + bytes([c[-1] ^ 1]) if name.startswith("blocks/") else c
    ),
    "a newer format": lambda data: reseal(
        data, lambda name, c: c.replace(b'"format":2', b'"format":9') if name == "errata.json" else c
    ),
    "another start": lambda data: reseal(data, lambda name, c: None if name == "errata.json" else c),
    "a seal alone": lambda data: reseal(data, lambda name, c: c if name == "sha256" else None),
    "a key that is none": lambda data: reseal(data, lambda name, c: b"{}" if name == "keys" else c),
    "a tag that is none": lambda data: reseal(data, lambda name, c: b"[]" if name == "tags" else c),
    "a call that is none": lambda data: reseal(
        data, lambda name, c: b'["x", {}]' if name.startswith("audit/") else c
    ),
    "a call of no time": lambda data: reseal(
        data, lambda name, c: re.sub(rb'"\d+-\d+"', b'"0-0"', c) if name.startswith("audit/") else c
    ),
    "a commit too deep": lambda data: reseal(
        data, lambda name, c: TOO_DEEP + b"\n" + c if name.startswith("log/") else c
    ),
    "a report too deep": lambda data: reseal(
        data,
        lambda name, c: (
            c.replace(b'"report":{', b'"report":{"x":' + TOO_DEEP + b",", 1) if "log/" in name else c
        ),
    ),
    "a call too deep": lambda data: reseal(
        data, lambda name, c: TOO_DEEP if name.startswith("audit/") else c
    ),
    "a key too deep": lambda data: reseal(data, lambda name, c: TOO_DEEP if name == "keys" else c),
    "an import too deep": lambda data: _with_block(data, TOO_DEEP),
    "an import of nothing": lambda data: _with_block(data, b"{}"),
    "a way out": lambda data: _with_link(data),
}


def _with_block(data: bytes, manifest: bytes) -> bytes:
    """One that no commit names."""
    tensor = torch.frombuffer(bytearray(manifest), dtype=torch.uint8)
    block = Block.of("import/x", 1, IMPORT, {"json": tensor})
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("blocks/" + block.digest.removeprefix("sha256:"))
        info.size = len(block.encoded)
        tar.addfile(info, io.BytesIO(block.encoded))
    piece = out.getvalue()[: 512 + -(-len(block.encoded) // 512) * 512]

    def add(name: str, content: bytes) -> bytes:
        return content

    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        seal = next(info for info in tar if info.name == "sha256")
    return reseal(data[: seal.offset] + piece + data[seal.offset :], add)


def _with_link(data: bytes) -> bytes:
    out = io.BytesIO(data)
    with tarfile.open(fileobj=out, mode="a") as tar:
        link = tarfile.TarInfo("errata.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return out.getvalue()


async def test_what_is_not_as_it_was_written_changes_nothing(old: Place, new: Place, tmp_path: Path) -> None:
    whole = tmp_path / "all.tar"
    await old.errata.backup(whole)
    empty = new.content()
    for defect, spoil in SPOILT.items():
        (tmp_path / "spoilt.tar").write_bytes(spoil(whole.read_bytes()))
        with pytest.raises(Malformed) as refusal:
            await new.errata.restore(tmp_path / "spoilt.tar")
        assert "backup" in str(refusal.value), defect
        assert new.content() == empty, defect
    await new.errata.restore(whole)


async def test_rows_of_another_checkpoint_are_refused(old: Place, new: Place, tmp_path: Path) -> None:
    from service.backup.backup import Backup

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
    backup = Backup(None, None, None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="sha256:ours"):
        await backup.restore(io.BytesIO(other), {"nkb/bank": "sha256:ours"})


def test_every_bucket_is_in_the_chunk_that_says_so() -> None:
    for buckets in (1, 4, 32, 64, 1_024):
        for bucket in range(buckets):
            first, end = chunk(chunk_of(bucket, buckets), buckets)
            assert first <= bucket < end


async def test_a_backup_that_breaks_off_leaves_no_file(old: Place, tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match="no backup"):
        await old.errata.backup(tmp_path / "nowhere" / "all.tar")
    victim = next(name for name in old.raw.scan_iter() if b":block:" in name)
    old.raw.delete(victim)
    with pytest.raises(ErrataError):
        await old.errata.backup(tmp_path / "all.tar")
    assert not any("all.tar" in name for name in os.listdir(tmp_path))


async def test_what_is_no_errata_makes_no_file(tmp_path: Path) -> None:
    transport = httpx.MockTransport(
        lambda request: httpx.Response(
            200, headers={"content-type": "application/x-tar"}, content=b"x" * 9_000
        )
    )
    async with AsyncErrata("http://x", key=KEY, transport=transport, retry=Retry(times=0)) as errata:
        with pytest.raises(NotErrata, match="no file"):
            await errata.backup(tmp_path / "all.tar")
    assert os.listdir(tmp_path) == []


async def test_the_commands_say_what_was_done(old: Place, new: Place, tmp_path: Path) -> None:
    async def run(where: Place, *words: str) -> Any:
        env = {"ERRATA_URL": where.url, "ERRATA_KEY": KEY, "COLUMNS": "200"}
        return await asyncio.to_thread(CliRunner().invoke, build_cli(*words[:1]), list(words), env=env)

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
