"""The same name in another spelling: other case, order, title, abbreviation, numbers in words."""

import random
import re
import tomllib
from collections.abc import Sequence
from functools import cache

from models.training.scope.crowds.crowd import FOLDER, Crowd, read_words

NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
PLAIN = str.maketrans("äöüåøéèêáàâíóôúñçšžćčőű", "aouaoeeeaaaioouncszccou")
PLAIN_CASE = 3  # weight of the name in lower case among all spellings


@cache
def _read_rules() -> Sequence[tuple[str, re.Pattern[str], Sequence[str]]]:
    rules = tomllib.loads((FOLDER / "same_names.toml").read_text("utf-8"))["rules"]
    return [(rule["style"], re.compile(rule["name"]), rule["same"]) for rule in rules]


def same_name(name: str, crowd: Crowd, rng: random.Random) -> str:
    """Write a name of the crowd otherwise; it stays as it is if another name of the crowd is written so."""
    options = [name.lower()] * PLAIN_CASE
    styles = {"any", crowd.style, *(("person",) if crowd.types == ("person",) else ())}
    for style, pattern, results in _read_rules():
        if style in styles and (match := pattern.search(name)):
            options += [_put(name, match, result, rng) for result in results]
    if (plain := name.translate(PLAIN)) != name:
        options += [plain] * 2
    new = rng.choice(options)
    rest = [other for other in crowd.names if other != name]
    first, last = name.split()[0], name.split()[-1].casefold()
    is_whole = (
        first.casefold() in new.casefold() or f"{first[0]}." in new
    )  # it has the first name or its initial
    if "person" in styles and not is_whole and any(other.split()[-1].casefold() == last for other in rest):
        return name
    return name if any(new.casefold() == other.casefold() for other in rest) else new


def _put(name: str, match: re.Match[str], result: str, rng: random.Random) -> str:
    """Put a rule's result in place of its match: groups by number, drawn words and numbers by name."""
    words = read_words()
    number = int(match["n"]) if "n" in match.re.groupindex else 0
    roman = words["roman"].index(match["r"]) if "r" in match.re.groupindex else 0
    text = match.expand(result).format(
        title=rng.choice(words["title"]),
        legal=rng.choice(words["legal"]),
        word=NUMBERS[number] if number < len(NUMBERS) else number,
        ordinal=str(words["ordinal"][min(roman, 9)]).capitalize(),
    )
    return name[: match.start()] + text + name[match.end() :]
