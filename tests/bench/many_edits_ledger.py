"""A ledger of as many active edits as a measurement needs, made without the service: a file of 1,000 edits a commit.

The questions are real, and so is how they are read. Only the strengths are not solved for each edit: each token has the
one that is enough from every reference state, so a hundred thousand edits take minutes and not half an hour.
"""

import asyncio
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from more_itertools import chunked

from models.memory import Block, Image, block_key
from models.nkb.memory import BANK
from models.nkb.reader import Reader
from models.packs.pack import Pack
from models.scope.wordings.block import write_block
from service.ledger.commit import Commit, EditRecord, Write, edit_order
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger

PER_COMMIT = 1_000
READ_AT_ONCE = 256
SINGLE_COMMITS = 16  # commits of one edit that follow the large ones, for a replica to follow
SEED = 41


def draw_corrections(count: int) -> list[tuple[str, str]]:
    """Return distinct questions about every name of the pack, also senseless ones, each with an answer."""
    rng, pack = random.Random(SEED), Pack.load()
    relations, answers = list(pack.relations.values()), sorted({item.answer for item in pack.items()})
    names = [entity.label for entity in pack.entities.values()]
    corrections: dict[str, str] = {}
    while len(corrections) < count:
        relation, phrasing = rng.choice(relations), rng.randrange(5)
        corrections.setdefault(relation.question(rng.choice(names), phrasing), rng.choice(answers))
    return list(corrections.items())


async def write_ledger(url: str, reader: Reader, size: int) -> None:
    """Append commits until `size` edits are active, the last of them one by one."""
    ledger, image, previous = RedisLedger.connect(url), Image(reader.digest), ""
    n_many = size - SINGLE_COMMITS
    corrections = draw_corrections(size)
    batches = [
        *chunked(corrections[:n_many], PER_COMMIT),
        *([correction] for correction in corrections[n_many:]),
    ]
    for version, batch in enumerate(batches, 1):
        pairs = list(_write_edits(reader, batch, version))
        records, blocks = [record for record, _ in pairs], [block for _, block in pairs]
        image = Image(image.base, {**image.blocks, **{block.key: block for block in blocks}})
        entries = tuple((block.key, block.order, block.digest) for block in blocks)
        commit = Commit(
            version, "edit", "bench", time.time(), "", tuple(records), tuple(record.id for record in records), (),
            writes={BANK: Write(image.checksum, entries)}, previous=previous,
        )  # fmt: skip
        await ledger.append(commit, blocks)
        previous = commit.digest
        if version == len(batches) - SINGLE_COMMITS:
            await ledger.put_manifest(version, {BANK: image})
    await ledger.aclose()


def _write_edits(
    reader: Reader, corrections: Sequence[tuple[str, str]], version: int
) -> Iterator[tuple[EditRecord, Block]]:
    index = 0
    for part in chunked(corrections, READ_AT_ONCE):
        readings = reader.read([question for question, _ in part]).readings
        for row, (question, answer) in enumerate(part):
            tokens = reader.spell(answer)
            order, edit = edit_order(version, index), f"{version:06x}{index:06x}"
            rows = {
                "tokens": torch.tensor(tokens, dtype=torch.int32),
                "strengths": reader.pushes.enough[tokens].cpu(),
                **write_block([question], readings.select([row])),
            }
            block = Block.of(block_key(edit), order, "gated", rows)
            notes = {"slots": len(tokens), "gates": 1, "margin": 1.0}
            record = EditRecord(edit, "nkb", BANK, question, answer, (), "gated", block.digest, order, notes)
            yield record, block
            index += 1


def prepare(folder: Path, size: int) -> None:
    """Write the data of a Valkey with so many edits to `folder`, atomically."""
    if folder.is_dir():
        return
    draft = folder.with_name(folder.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    with EmbeddedValkey(draft) as valkey:
        asyncio.run(write_ledger(valkey.url, Reader.load(), size))
    draft.rename(folder)
