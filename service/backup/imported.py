"""Whether a backup has all rows of each import, as its commit says: by the digests of their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from models.graph.blocks import Manifest
from service.graph import keys
from service.graph.imports.bucket_builder import chunk_of


class Imported:
    """Takes what the file has, in its order; the manifest of an import stands before its rows."""

    def __init__(self) -> None:
        self._manifests: dict[str, Manifest] = {}
        self._chunks: dict[tuple[str, int], Any] = defaultdict(sha256)
        self._names: dict[tuple[str, int], str] = {}
        self._keys: dict[str, list[str]] = defaultdict(list)

    def manifest(self, manifest: Manifest) -> None:
        self._manifests[manifest.id] = manifest

    def row(self, key: str, data: bytes) -> None:
        """Rows that no manifest is of are left out of the sums, and so are missed by nobody."""
        source, numbers = keys.source_of(key), keys.numbers(key)
        self._keys[source].append(key)
        if keys.is_names(key):
            self._names[source, numbers[0]] = "sha256:" + sha256(data).hexdigest()
        elif source in self._manifests:
            self._chunks[source, chunk_of(numbers[0], self._manifests[source].buckets)].update(data)

    @property
    def keys(self) -> Mapping[str, Sequence[str]]:
        """By import."""
        return self._keys

    def damaged(self) -> list[str]:
        """The imports whose rows are not those that were written."""
        return [source for source, manifest in self._manifests.items() if not self._is_whole(manifest)]

    def _is_whole(self, manifest: Manifest) -> bool:
        found = tuple(self._digests(manifest))
        names = tuple(self._names.get((manifest.id, n), "") for n in range(len(manifest.names)))
        return found == manifest.chunks and names == manifest.names

    def _digests(self, manifest: Manifest) -> Iterator[str]:
        for number in range(len(manifest.chunks)):
            yield "sha256:" + self._chunks[manifest.id, number].hexdigest()
