"""What EasyEdit calls an edit, as a correction of ours.

Three spellings are read, by the names that its data sets use (github.com/zjunlp/EasyEdit, easyeditor/dataset):

    prompt, target_new, rephrase_prompt       CounterFact and KnowEdit as EasyEdit ships them
    src, alt, rephrase                        zsRE
    update, ans, rephrase                     WikiBigEdit

The rephrased prompt is there to measure whether an edit carries over to other words: EasyEdit never shows it to the
editor. So it is held back here too, and asked when all is done. Who wants it taught says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUESTION, ANSWER, REPHRASED = (
    ("prompt", "src", "update"),
    ("target_new", "alt", "ans"),
    ("rephrase_prompt", "rephrase"),
)
EASYEDIT_LINE = '{"prompt": "...", "target_new": "..."} with rephrase_prompt if wanted'
Fields = Mapping[str, Any]


def is_easyedit(fields: Fields) -> bool:
    return "question" not in fields and any(name in fields for name in (*QUESTION, *ANSWER[:2]))


def of_easyedit(fields: Fields, teach: bool) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """The correction, the wordings that are held back, and the names of what is not used. teach: hold back none."""
    question, answer, rephrased = (_among(fields, names) for names in (QUESTION, ANSWER, REPHRASED))
    named = {"question": fields.get(question), "answer": _first(fields.get(answer))}
    wordings = _texts(fields.get(rephrased))
    own = {name: value for name, value in named.items() if value is not None}
    if teach and wordings:
        own["paraphrases"] = wordings
    unused = tuple(sorted(name for name in set(fields) - {question, answer, rephrased} if fields[name]))
    return own, () if teach else tuple(filter(_is_text, wordings)), unused


def _among(fields: Fields, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in fields), names[0])


def _first(value: Any) -> Any:
    """Of several spellings of an answer the first counts; KnowEdit nests such lists."""
    while isinstance(value, list) and value:
        value = value[0]
    return value


def _texts(value: Any) -> list[Any]:
    return [one for one in (value if isinstance(value, list) else [value]) if one not in (None, "")]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
