"""The readers of single formats by their names."""

from __future__ import annotations

from service.graph.formats.base import Reader
from service.graph.formats.ntriples import NTriplesReader
from service.graph.formats.rdf import SYNTAXES, RdfReader
from service.graph.formats.table import TableReader
from service.graph.formats.tables import CsvReader, TsvReader
from service.graph.formats.wikidata import WikidataReader

READERS: dict[str, type[Reader]] = {
    "tsv": TsvReader,
    "csv": CsvReader,
    "xlsx": TableReader,
    "nt": NTriplesReader,
    "nq": NTriplesReader,
    **dict.fromkeys(SYNTAXES, RdfReader),
    "wikidata": WikidataReader,
}
