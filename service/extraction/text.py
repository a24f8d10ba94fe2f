"""The last steps of reading text of any format."""

from __future__ import annotations

import re
import unicodedata

from service.extraction.process import FileText, Unreadable

NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")  # characters that no text has
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")  # places where a line may or may not be broken
SPACES = re.compile("[\u00a0\u2007\u202f]")  # spaces at which no line is broken
# Ligatures and positional letters, each a picture of other characters
PRESENTATION_FORMS = re.compile("[\ufb00-\ufdff\ufe70-\ufefe]+")
BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
SUPERSCRIPTS = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
SUBSCRIPTS = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")

# A figure with the signs of a power, a unit or notes
FIGURE = re.compile(r"[0-9+=()n,.\u2013\u2212-]*[0-9][0-9+=()n,.\u2013\u2212-]*")


def finish(text: str, title: str, advice: str) -> FileText:
    """Return text as a reader sees it: without invisible characters and with the letters that ligatures stand for.

    Args:
        text: Text with an empty line between paragraphs.
        title: The title in the file's metadata, or "".
        advice: The fault, and what to do about it, if nothing is left.

    Raises:
        Unreadable: Nothing is left.
    """
    text = SPACES.sub(" ", INVISIBLE.sub("", NO_TEXT.sub(" ", text)))
    text = PRESENTATION_FORMS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()
    if not text:
        raise Unreadable(advice)
    return FileText(text, " ".join(NO_TEXT.sub(" ", title).split()))


def set_small(text: str, table: dict[int, int]) -> str:
    """Return a raised or lowered figure as superscripts or subscripts, so that it joins no figure before it.

    Args:
        text: Text that is raised or lowered; anything but a figure stays as it is.
        table: SUPERSCRIPTS or SUBSCRIPTS.
    """
    is_figure = FIGURE.fullmatch(text.strip()) and (table is SUPERSCRIPTS or "." not in text)
    return text.translate(table) if is_figure else text
