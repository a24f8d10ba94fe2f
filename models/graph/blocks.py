"""Statements and import manifests as blocks of a memory, which the ledger stores and the fold orders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from models.blocks import Block
from models.graph.statement import Statement, shorten
from models.kit.material import read_text, to_tensor

STATEMENTS, IMPORT = "statements", "import"
CHUNKS = 32  # digests of the buckets of an import; as many again for its facts by their objects
_TENSOR = "json"

EntityStatements = Mapping[str, tuple[Statement, ...]]  # entity id -> statements about it


@dataclass(frozen=True)
class Manifest:
    """An import: the place and the digests of its rows, which are too many for a block."""

    id: str  # id of the import; the keys of its rows contain it
    buckets: int  # number of keys over which the entities are spread
    chunks: tuple[str, ...]  # digest of the rows of each run of buckets
    names: tuple[str, ...]  # digest of each piece of the list of names
    triples: int
    entities: int
    # Relations of the file, with their labels, "" where it gives none
    relations: Mapping[str, str] = field(default_factory=dict)
    has_names: bool = True  # whether its rows may name entities of other imports, of the base or of edits

    @property
    def has_in_edges(self) -> bool:
        """Return whether its facts are listed by their objects, too, in as many buckets behind the others."""
        return len(self.chunks) > CHUNKS

    @property
    def all_buckets(self) -> int:
        """Return the number of all buckets."""
        return 2 * self.buckets if self.has_in_edges else self.buckets


def statements_block(key: str, order: int, statements: EntityStatements) -> Block:
    content = {entity: [list(shorten(statement)) for statement in row] for entity, row in statements.items()}
    return _block(key, order, STATEMENTS, content)


def read_statements(block: Block) -> EntityStatements:
    return {entity: tuple(Statement(*fields) for fields in row) for entity, row in _content(block).items()}


def manifest_block(key: str, order: int, manifest: Manifest) -> Block:
    return _block(key, order, IMPORT, asdict(manifest))


def read_manifest(block: Block) -> Manifest:
    fields = _content(block)
    return Manifest(**{**fields, "chunks": tuple(fields["chunks"]), "names": tuple(fields["names"])})


def _block(key: str, order: int, kind: str, content: Mapping[str, Any]) -> Block:
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return Block.of(key, order, kind, {_TENSOR: to_tensor(data)})


def _content(block: Block) -> Any:
    return json.loads(read_text(block, _TENSOR))
