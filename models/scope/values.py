"""The one spelling of values: dates, times of day, numbers with a sign or in words (text2num), ratios, Roman numerals.

In doubt two values keep two spellings: 4.20 mm is 4.2 mm, but 4.20 alone may be a time or a version.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from text_to_num import alpha2digit

from models.kit.days import DAY_MONTH_YEAR, MONTH_DAY_YEAR, spell_day

VERSION = 4  # of these rules: wordings that were stored under older ones are read again
TEXTS_CACHED = 16_384  # 1 kB each
MINUTES, HALF = r"[:.h]([0-5]\d)", r"[ap]\.?m\b\.?|in the (?:morning|afternoon|evening)\b"
ROMAN = re.compile(r"\b(?=[ivxl]{2,}\b)(x[lc]|l?x{0,3})(i[xv]|v?i{0,3})(?<=[ivxl])\b")
ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}
# A lesser number in words counts only beside others: people say "the three of us" in passing
LEAST_IN_WORDS = 10.0
RATIO_IN_WORDS = re.compile(r"\d (?:by|over|to) [a-z]+\b")
BIG = re.compile(r"\b(\d+(?:\.\d+)?) ?(k|thousand|million|billion)\b")
THOUSANDS = {"k": 10**3, "thousand": 10**3, "million": 10**6, "billion": 10**9}
CURRENCIES = {"dollar": "$", "euro": "€", "pound": "£", "yen": "¥"}
CODES = {"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"}
# Mega and milli have one letter once case is gone, so that units which take both are left to the judge
PREFIXES = {"kilo": "k", "centi": "c", "milli": "m", "micro": "μ", "nano": "n"}
BASES = {"gram": "g", "metre": "m", "meter": "m", "litre": "l", "liter": "l", "second": "s", "hour": "h", "hr": "h",
         "minute": "min", "min": "min", "byte": "b", "megabyte": "mb", "gigabyte": "gb", "terabyte": "tb"}  # fmt: skip
NAMED_UNIT = rf" ?({'|'.join(PREFIXES)})?({'|'.join(BASES)})s?\b"
UNIT = r"(?:[kcmnμ]m|[kmμn]g|[mcd]?l|m?s|[kmgt]b|h|min)"  # its abbreviations
ZEROS = r"(\b\d+\.\d*[1-9]|\b\d+(?=\.))\.?0+"
FIGURE = r"\d+(?:\.\d+)?"
DEGREES = rf"({FIGURE}) ?(?:°|degrees?)? ?"
NORTH, EAST = rf"{DEGREES}(n|s)(?:orth|outh)?\b", rf"{DEGREES}(e|w)(?:ast|est)?\b"
SUPERSCRIPT = re.compile(r"(?<=\d)(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")
PLAIN = re.compile(r"[a-z ,.;:?!'\"-]*")  # a text that has no literals but letters


def _time(hour: str, minute: str | None, half: str | None = None) -> str:
    is_late = (half or "")[:1] in ("p", "e") or "afternoon" in (half or "")
    return f"{int(hour) % 12 + 12 * is_late if half else int(hour)}:{minute or '00'}"


def _roman(match: re.Match[str]) -> str:
    values = [ROMAN_VALUES[letter] for letter in match[0]]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return str(sum(-value if value < following else value for value, following in pairs))


# How else a value is written, and its one spelling; each line reads what the lines before it wrote.
SPELLINGS: Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"[−–—](?=\d)", "-"),
        (r"[\ufe00-\ufe0f\u200d]", ""),
        (r"\bv(?=\d+\.\d)", ""),
        (rf"(?<=\d),(?=\d{{1,2}} ?(?:{UNIT}\b|[%€$£]|euro|dollar|pound))", "."),
        (r"(\d[\d.,:]*) ?(dollar|euro|pound|yen)s?\b", lambda m: CURRENCIES[m[2]] + m[1]),
        (r"(\d[\d.,:]*) ?(usd|eur|gbp|jpy)\b", lambda m: CODES[m[2]] + m[1]),
        (r"(\d[\d.,:]*) ?([$€£¥])", r"\2\1"),
        (r"\b(usd|eur|gbp|jpy) ?(?=\d)", lambda m: CODES[m[1]]),
        (rf"{ZEROS}(?= ?(?:{UNIT}\b|[%€$£]))", r"\1"), (rf"(?<=[€$£]){ZEROS}(?!\d)", r"\1"),
        (r"(?<![\w.:])(\d+(?:\.\d+)*?)(?:\.0)+(?![\w.:])", r"\1"), (r"(?<=\d)\.0{3,}(?!\d)", ""),
        (r"(?<!\w)['’]([3-9]\d)(?=s?\b)", r"19\1"), (r"(?<!\w)['’]([012]\d)(?=s?\b)", r"20\1"),
        (rf"\b{NORTH},? ?{EAST}", r"\1\2\3\4"), (rf"\b{EAST},? ?{NORTH}", r"\3\4\1\2"),
        (r"\b(\d+) ?(?:h|hrs?|hours?)(?: and)? ?(\d{1,2}) ?(?:m|mins?|minutes?)\b",
         lambda m: _time(m[1], f"{m[2]:0>2}")),
        (r"(?<=\d) ?mcg\b", "μg"), (rf"(?<=\d){NAMED_UNIT}", lambda m: PREFIXES.get(m[1], "") + BASES[m[2]]),
        (rf"(?<!:\d\d)(?<=\d) ?({UNIT}|(?<= )[mg])\b(?!['’])", r"\1"),
        (r"\*\*| to the power of ", "^"), (r"(?<=[a-z)])\^(?=\d)", ""),
        (r"(?<![\d./:])(\d+)(?:(?: divided)? by | over | to | ?[:/÷] ?|[x×])(\d+)(?![\w./:])", r"\1:\2"),
        (r"(?<=\d) x (?=\d)", " * "),
        (r"\b\d{3}(?:-\d{3,4})+\b", lambda m: m[0].replace("-", "")),
        (r"<=", "≤"), (r">=", "≥"), (r"!=|/=", "≠"), (r"==", "="), (r"[-=]>", "→"), (r"<-", "←"), (r"×", "*"),
        (DAY_MONTH_YEAR, lambda m: spell_day(m[3], m[2], m[1])),
        (MONTH_DAY_YEAR, lambda m: spell_day(m[3], m[1], m[2])),
        (rf"\b(\d{{1,2}})(?:{MINUTES})? ?({HALF})", lambda m: _time(m[1], m[2], m[3])),
        (rf"(?<![\d.:+-])([01]?\d|2[0-4]){MINUTES}(?![\d.:])(?: ?(?:h|o'clock)\b)?", lambda m: _time(m[1], m[2])),
        (r"(?<![\d.,])(\d{1,3})((?:[,' ]\d{3})+)(?![\d,]|\.\d)", lambda m: m[1] + re.sub(r"\D", "", m[2])),
        (r"(?<=\d) ?(?:%|per ?cent\b)", "%"),
        (r"\b(?:minus|negative) (?=\d)", "-"), (r"\bplus (?=\d)", "+"),
        (r"(?<=\d) ?(?:°|degrees?)? ?(?:c|celsius|centigrade)\b", "℃"),
        (r"(?<=\d) ?(?:°|degrees?)? ?(?:f|fahrenheit)\b", "℉"),
        (r"\b(\d{1,2}) o'clock\b", r"\1:00"),
        (r"(?<=\d) ?: ?(?=\d)", ":"),
        (r"(?<![\d)\]] )(?<!\b\w )(?<![\w)\]])\+(?=\d)", ""),
        (r"(?<=\d) - ?(?=\d)", " − "),
        (r"(?<=[\w)\]])-(?=\d)", " "),
    )
]  # fmt: skip


@lru_cache(TEXTS_CACHED)
def spell_values(text: str) -> str:
    """Return a text without case, in which each value has its one spelling."""
    text = unicodedata.normalize("NFKC", SUPERSCRIPT.sub("^", text)).casefold()
    text = BIG.sub(lambda match: f"{float(match[1]) * THOUSANDS[match[2]]:.0f}", ROMAN.sub(_roman, text))
    text = RATIO_IN_WORDS.sub(
        lambda match: alpha2digit(match[0], "en"), alpha2digit(text, "en", LEAST_IN_WORDS)
    )
    if not PLAIN.fullmatch(text):
        for pattern, spelling in SPELLINGS:
            text = pattern.sub(spelling, text)
    return text
