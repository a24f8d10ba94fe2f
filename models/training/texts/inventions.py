"""Values that are made up: dates, numbers and names of a kind, for facts that no pack has."""

import random
import tomllib
from collections.abc import Callable
from pathlib import Path

LISTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

GENERATORS: dict[str, Callable[[random.Random], str]] = {
    "date": lambda r: f"{r.randint(1, 28)} {_pick('month', r)} {r.randint(1600, 2020)}",
    "year": lambda r: str(r.randint(1400, 2024)),
    "count": lambda r: (
        f"{r.randint(1, 999):,}{r.choice(['', ',000', f',{r.randint(100, 999)}', ' million'])}"
    ),
    "number": lambda r: str(r.randint(1, 150)),
    "length": lambda r: r.choice(
        [f"{r.randint(150, 210)} cm", f"{r.randint(2, 4000)} m", f"1.{r.randint(50, 99)} m"]
    ),
    "money": lambda r: (
        f"{r.choice(['$', 'US$', '€', '£'])}{r.randint(1, 990)}{r.choice(['', ' million', ',000'])}"
    ),
    "website": lambda r: (
        f"www.{r.choice(['acme', 'north', 'blue', 'city', 'star'])}{r.randint(1, 99)}.{r.choice(['com', 'org'])}"
    ),
    "duration": lambda r: f"{r.randint(20, 240)} minutes",
    "version": lambda r: f"{r.randint(0, 20)}.{r.randint(0, 12)}" + r.choice(["", f".{r.randint(0, 9)}"]),
    "weight": lambda r: f"{r.randint(1, 3000)} {r.choice(['kg', 'g', 'tonnes'])}",
    "speed": lambda r: f"{r.randint(20, 900)} {r.choice(['km/h', 'mph', 'knots'])}",
    "area": lambda r: f"{r.randint(1, 900)}{r.choice(['', ',000', '.5'])} km²",
    "digits": lambda r: str(r.randint(1000, 99999)),
    "temperature": lambda r: f"{r.randint(-250, 3500)} °C",
    "decimal": lambda r: f"{r.randint(0, 250)}.{r.randint(1, 999)}",
    "text": lambda r: "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(1, 4))),
}


def invent(kind: str, rng: random.Random) -> str | None:
    """Invent a value of this kind; None for a type of entity, of which the pack has examples."""
    if kind in GENERATORS:
        return GENERATORS[kind](rng)
    return _pick(kind, rng) if kind in LISTS else None


def _pick(kind: str, rng: random.Random) -> str:
    return rng.choice(LISTS[kind])
