"""What reads bytes that others wrote: each target takes any bytes, and raises only where that reader is wrong.

A reader may refuse with its own error; whatever else it raises is a bug.
"""

import gzip
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import torch
from safetensors.torch import save

from models.blocks import Block, BlockError, Image
from models.kit.checkpoint import CheckpointError, read_config, read_tensors, read_verified
from service.errors import LedgerCorrupt
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError, Rejection
from service.ledger import manifests
from service.ledger.commit import Commit

FORMATS = (None, "tsv", "csv", "nt", "wikidata")
LONGEST_REASON = 400
BLOCK = Block.of("edit/a", 7, "gated", {"row": torch.tensor([1.5, -1.5]), "count": torch.tensor(3)})


@dataclass(frozen=True)
class Target:
    """A target. seeds: first inputs. runs: how many inputs `make test` tries."""

    run: Callable[[bytes], None]
    seeds: Sequence[bytes]
    runs: int


def graph_file(data: bytes) -> None:
    """Read a graph file, whose format the first byte chooses."""
    try:
        rows = list(
            GraphFileReader(FORMATS[data[0] % len(FORMATS)] if data else None).read(BytesIO(data[1:]))
        )
    except GraphFileError:
        return
    for item in rows:
        json.dumps(item)
        assert not isinstance(item, Rejection) or len(item.reason) < LONGEST_REASON, item.reason


def ledger_block(data: bytes) -> None:
    """Read a block whose digest fits its bytes, like a damaged block that a store returns."""
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    try:
        block = Block.decode(data, key="edit/a", order=7, digest=digest)
    except BlockError:
        return
    assert block.digest == digest
    assert isinstance(block.kind, str)


def checkpoint(data: bytes) -> None:
    """Read a checkpoint whose files all have these bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("model.safetensors", "config.json", "SHA256SUMS"):
            (folder / file).write_bytes(data)
        for read in (read_tensors, read_config, lambda folder: read_verified(folder, ["config.json"])):
            try:
                read(folder)
            except CheckpointError:
                continue


def torch_file(data: bytes) -> None:
    """Read a torch file without unpickling, so that no bytes can run code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytorch_model.bin").write_bytes(data)
        try:
            read_tensors(folder)
        except CheckpointError:
            return


def ledger_entry(data: bytes) -> None:
    for read in (Commit.decode, lambda data: manifests.decode(data, 3)):
        try:
            read(data)
        except LedgerCorrupt:
            continue


def _save_torch_file() -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        torch.save({"row": torch.tensor([1.5])}, file.name)
        return Path(file.name).read_bytes()


TSV = "Peru\tcapital\tLima\n東京\tin\t日本\nbad\n".encode()
CSV = b'subject,relation,object\na,r,"x\r\ny"\nb,r,"open\n'
TRIPLES = '_:a <http://a/p> "é"@en .\n<http://a/b> <http://a/p> _:c .'.encode()
DUMP = b'[\n{"id":"Q1","labels":{"en":{"value":"a"}},"claims":{"P1":[{"mainsnak":{}}]}},\n]'
COMMIT = Commit(1, "edit", "ana", 1.5, "why", previous="").encoded

TARGETS = {
    "graph_file": Target(
        graph_file,
        [bytes([kind]) + file for kind, file in enumerate((TSV, TSV, CSV, TRIPLES, DUMP))]
        + [b"\x00" + gzip.compress(TSV, mtime=0)],
        4_000,
    ),
    "block": Target(ledger_block, [BLOCK.encoded, save({"row": torch.tensor([1.0])})], 4_000),
    "checkpoint": Target(checkpoint, [BLOCK.encoded, b'{"a": 1}', b"0" * 64 + b"  config.json\n"], 300),
    "torch_file": Target(torch_file, [_save_torch_file()], 300),
    "ledger_entry": Target(
        ledger_entry, [COMMIT, manifests.encode({"m": Image("sha256:0", {"a": BLOCK})})], 4_000
    ),
}
