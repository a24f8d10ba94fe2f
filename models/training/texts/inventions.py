"""Values that are made up: dates, numbers and names of a kind, for facts that no pack has."""

import random
from collections.abc import Callable

LISTS = {
    "cause": "pneumonia|tuberculosis|a heart attack|cancer|a car accident|drowning|cholera|old age|a stroke|a fall",
    "award": "Order of Merit|Golden Globe|Pulitzer Prize|Fields Medal|Grammy|Iron Cross|Prix Goncourt|Turing Award",
    "rank": "captain|colonel|major general|sergeant|lieutenant|admiral|private|brigadier|corporal|field marshal",
    "branch": "navy|air force|infantry|Royal Marines|coast guard|artillery|cavalry|United States Army|Luftwaffe",
    "party": "Labour Party|Green Party|Christian Democrats|Liberal Party|Republican Party|Social Democrats|Fatah",
    "colour": "blue|green|brown|grey|silvery white|hazel|red|black|yellow|colourless|orange|violet",
    "people": "Bengalis|Kurds|Tamils|Basques|Han Chinese|Yoruba|Scots|Maori|Sami people|Armenians|Catalans",
    "voice": "soprano|tenor|bass|mezzo-soprano|baritone|contralto|countertenor",
    "word": "Lucky|The Fox|Old Tom|Sparky|Iron Lady|Bones|The Professor|Red|Duke|Shorty|Magic|The Rock",
    "exchange": "New York Stock Exchange|Nasdaq|Tokyo Stock Exchange|Euronext|London Stock Exchange|Bombay Exchange",
    "league": "Premier League|Serie A|Bundesliga|National League|Ligue 1|Super League|Major League Soccer|NBA",
    "phrase": "Unity and freedom|Ever onward|Truth prevails|Land of my fathers|Be prepared|Hope and glory|Just do it",
    "system": "Windows|Linux|macOS|Android|iOS|MS-DOS|FreeBSD|Palm OS|Unix|Solaris",
    "code_language": "C++|Java|Python|Fortran|Rust|COBOL|Haskell|Pascal|assembly|JavaScript|Lisp",
    "engine": "diesel engine|V8 engine|gas turbine|electric motor|steam engine|Rolls-Royce Merlin|jet engine",
    "time_zone": "UTC+1|UTC-5|UTC+05:30|Central European Time|Pacific Time|UTC+9|Eastern Time|UTC",
    "government": "constitutional monarchy|federal republic|unitary state|absolute monarchy|parliamentary republic",
    "side": "left|right|left-hand side|right-hand side",
    "state": "solid|liquid|gas|a metal that is liquid",
    "sport": "football|tennis|cricket|rowing|baseball|ice hockey|sumo|judo|rugby union|volleyball|chess|golf",
    "event": "the great fire|a bankruptcy|the first landing|a merger|a coronation|the battle of the bridge|a flood",
    "material": "oak|bronze|concrete|steel|marble|cotton|glass|plastic|leather|sandstone|silver|paper",
    "month": "January|February|March|April|May|June|July|August|September|October|November|December",
}

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
    return rng.choice(LISTS[kind].split("|"))
