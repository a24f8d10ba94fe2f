"""Literals: figures, signs, codes, single letters and foreign words, which two questions must share in their order.

The commonest small words tell another language: a detector of languages that knows short questions takes 100 MB, and a
name in a question misleads it. Small words of a name ("Pays de la Loire") do not count beside one that only English
has.

A language model takes neighbouring numbers for nearly the same, and so plan B and plan C, A12 and A12X, 4.2 and 2.4; it
hardly distinguishes words of scripts that the encoder was not trained on, and not at all characters that it does not
know. A wording that changes these changes the question, so the judge is not asked if they differ. A value is read whole
and has one spelling: a date, a time of day, a number with its sign or in words (text2num), a ratio, a Roman numeral. In
doubt two values differ: 4.20 mm is 4.2 mm, but 4.20 alone may be a time or a version. Initials and abbreviations (J.
K., U.S.) do not count, since people write them in different ways; nor does a symbol behind the end of the question.
"""

import re
import unicodedata
from calendar import month_abbr, month_name
from collections.abc import Callable, Sequence
from hashlib import sha256

import torch
from errata.wire.wording import normalize_question
from jaxtyping import Int
from text_to_num import alpha2digit
from torch import Tensor

WORD = re.compile(r"\w+")
ENGLISH = frozenset(
    WORD.findall(
        "what who whom whose which where when why how are were be been does did the of on at for to by from with and "
        "name give tell has have had"
    )
)
OTHER_LANGUAGES = frozenset(  # German, French, Spanish, Italian, Portuguese, Dutch, Polish
    WORD.findall(
        "wer wie wo wann welche welcher welches ist sind war die der das den dem von im und "
        "quel quelle quels quelles qui est sont le la les du des où quand combien et "
        "qué cuál cuáles quién quiénes dónde cuándo es son el los las del de y "
        "qual quale quali chi è sono il lo gli della dello di dove quando "
        "quem onde são o os as da dos das em e "
        "wat waar welke wanneer zijn het van een "
        "co kto jaka jaki jakie jest są gdzie kiedy"
    )
)
MIN_FOREIGN = 2  # small words of other languages, for one may be part of a name


def is_in_another_script(question: str) -> bool:
    """Return whether a word of the question is not in Latin letters."""
    return not all(map(is_latin, WORD.findall(question)))


def is_in_another_language(question: str) -> bool:
    """Return whether a question reads like one of seven other languages; without small words it counts as English."""
    words = WORD.findall(unicodedata.normalize("NFC", question).casefold())
    return ENGLISH.isdisjoint(words) and sum(word in OTHER_LANGUAGES for word in words) >= MIN_FOREIGN


def is_latin(word: str) -> bool:
    """Return whether all letters of a word are Latin."""
    letters = (letter for letter in word if letter.isalpha())
    return word.isascii() or all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)


VERSION = 3  # of these rules: literals of wordings that were stored under older ones are read again
MONTHS = {
    name.casefold(): number for names in (month_name, month_abbr) for number, name in enumerate(names) if name
}
MONTH = rf"({'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
DAY, YEAR = r"(?:the )?(\d{1,2})(?:st|nd|rd|th)?", r"(\d{4})"
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
FIGURE = r"\d+(?:\.\d+)?"
DEGREES = rf"({FIGURE}) ?(?:°|degrees?)? ?"
NORTH, EAST = rf"{DEGREES}(n|s)(?:orth|outh)?\b", rf"{DEGREES}(e|w)(?:ast|est)?\b"
SUPERSCRIPT = re.compile(r"(?<=\d)(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")
CODE = r"[^\W_]*\d[^\W_]*"  # a word with a digit
VALUE = rf"-?\d+(?:[.:/]\d+)+[^\W_]*%?|-?\b{CODE}%?"
LETTER = r"(?<![\w'’.])[^\W\d_](?![\w'’.])"  # a letter by itself: plan B, vitamin C
LITERAL = re.compile(rf"(?P<value>{VALUE})|(?P<letter>{LETTER})|(?P<word>\w+)|(?P<symbol>[^\w\s])")
PLAIN = re.compile(r"[a-z ,.;:?!'\"-]*")  # a text that has no literals but letters
SUFFIX = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")  # suffixes that do not change which number is meant
SMALL_WORDS = {"a", "i"}
# Operators beside those of mathematics; they count only beside a value, a letter or another.
OPERATORS = frozenset("*\\^→←")
IGNORED = frozenset("°|~©®™")


def _date(year: str, month: str, day: str) -> str:
    return f"{year}-{MONTHS.get(month, month)!s:0>2}-{int(day):02}"


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
        (rf"(\d\.\d*?)0+(?= ?(?:{UNIT}\b|[%€$£]))", r"\1"), (r"([€$£]\d+\.\d*?)0+(?!\d)", r"\1"),
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
        (rf"\b{DAY} (?:of )?{MONTH},? {YEAR}\b", lambda m: _date(m[3], m[2], m[1])),
        (rf"\b{MONTH} {DAY},? {YEAR}\b", lambda m: _date(m[3], m[1], m[2])),
        (rf"\b(\d{{1,2}})(?:{MINUTES})? ?({HALF})", lambda m: _time(m[1], m[2], m[3])),
        (rf"(?<![\d.:-])([01]?\d|2[0-4]){MINUTES}(?![\d.:])(?: ?(?:h|o'clock)\b)?", lambda m: _time(m[1], m[2])),
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


def digest_literals(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Digest the literals of each question, in their order; 0 without any."""
    return torch.tensor(
        [digest_text(" ".join(find_literals(question))) for question in questions], dtype=torch.int64
    )


def digest_wordings(questions: Sequence[str]) -> Int[Tensor, " batch"]:
    """Digest each question so that case, spaces and final punctuation do not count."""
    return torch.tensor(
        [digest_text(normalize_question(question)) for question in questions], dtype=torch.int64
    )


def find_literals(question: str) -> list[str]:
    """Return the literals of a question in their order, each in its one spelling."""
    text = unicodedata.normalize("NFKC", SUPERSCRIPT.sub("^", question)).casefold()
    text = BIG.sub(lambda match: f"{float(match[1]) * THOUSANDS[match[2]]:.0f}", ROMAN.sub(_roman, text))
    text = RATIO_IN_WORDS.sub(
        lambda match: alpha2digit(match[0], "en"), alpha2digit(text, "en", LEAST_IN_WORDS)
    )
    if not PLAIN.fullmatch(text):
        for pattern, spelling in SPELLINGS:
            text = pattern.sub(spelling, text)
    matches = list(LITERAL.finditer(text))
    kinds = ["word", *map(_kind, matches), "word"]
    end = max(map(text.rfind, "?!"))
    return [
        SUFFIX.sub("", match[0])
        for match, before, kind, after in zip(matches, kinds, kinds[1:], kinds[2:], strict=False)
        if kind in ("value", "letter", "foreign")
        or (kind == "operator" and {before, after} - {"word", "mark"})
        or (kind == "picture" and not 0 <= end < match.start())
    ]


def _kind(match: re.Match[str]) -> str:
    """Return what a token is: a value, a letter, a foreign word, an operator, a picture, or another word or mark."""
    token, kind = match[0], str(match.lastgroup)
    if kind in ("letter", "word"):
        return "foreign" if not is_latin(token) else "word" if token in SMALL_WORDS else kind
    if kind == "symbol":
        category = unicodedata.category(token)
        is_operator = category == "Sm" or token in OPERATORS
        is_picture = category in ("Sc", "So", "Co", "Cn")
        return (
            "mark" if token in IGNORED else "operator" if is_operator else "picture" if is_picture else "mark"
        )
    return kind


def digest_text(text: str) -> int:
    """Return 64 bits of the SHA-256 of a text; 0 for no text."""
    return digest_bytes(text.encode())


def digest_bytes(text: bytes) -> int:
    """Return `digest_text` of an encoded text."""
    return int.from_bytes(sha256(text).digest()[:8], "little", signed=True) if text else 0
