"""EasyEdit's records of edits as corrections with tests (github.com/zjunlp/EasyEdit, easyeditor/dataset).

EasyEdit spells the fields of an edit in three ways:

    prompt, target_new, rephrase_prompt       CounterFact and KnowEdit as EasyEdit ships them
    src, alt, rephrase                        zsRE
    update, ans, rephrase                     WikiBigEdit

The rephrased prompt measures whether an edit carries over to other words: EasyEdit never shows it to the editor. So
it is held out here, too, and asked at the end, unless the caller wants it taught.

Prompts of locality, whose answers have to stay, and of portability, which follow from the edit, become tests of it.
They have separate fields, or stand under `locality` and `portability`, in lists under the names of their kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

QUESTION = ("prompt", "src", "update")
ANSWER = ("target_new", "alt", "ans")
REPHRASING = ("rephrase_prompt", "rephrase")
PROMPTS = (  # a field of prompts, the one of their answers, and whether a prompt without an answer is a test
    ("loc", "loc_ans", True),
    ("locality_prompt", "locality_ground_truth", True),
    ("locality", "", True),
    ("mhop", "mhop_ans", False),
    ("portability_prompt", "portability_ground_truth", False),
    ("portability", "", False),
)
OBJECT = (("prompt", "ground_truth"), ("New Question", "New Answer"))  # names of a prompt and its answer
MARK = "nq question: "  # what zsRE puts before a question of locality
EASYEDIT_LINE = '{"prompt": "...", "target_new": "..."} with rephrase_prompt if wanted'
Fields = Mapping[str, Any]


def is_easyedit(fields: Fields) -> bool:
    return "question" not in fields and any(name in fields for name in (*QUESTION, *ANSWER[:2]))


def from_easyedit(
    fields: Fields, teach_rephrased: bool
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """Return the fields of the correction, the wordings that are held out, and the names of unused fields."""
    question_name, answer_name, rephrased_name = (
        next((name for name in names if name in fields), names[0]) for names in (QUESTION, ANSWER, REPHRASING)
    )
    correction = {"question": fields.get(question_name), "answer": _first(fields.get(answer_name))}
    correction = {name: value for name, value in correction.items() if value is not None}
    prompts = fields.get(rephrased_name)
    wordings = prompts if isinstance(prompts, list) else [prompts]
    wordings = [wording for wording in wordings if wording not in (None, "")]
    if teach_rephrased and wordings:
        correction["paraphrases"] = wordings
    held_out = [wording for wording in wordings if isinstance(wording, str) and wording.strip()]
    used_names = {question_name, answer_name, rephrased_name}
    tests: dict[str, str | None] = {}
    for prompts_name, answers_name, may_stay in PROMPTS:
        pairs = _iterate_prompts(fields.get(prompts_name), fields.get(answers_name))
        answers = {prompt: expected for prompt, expected in pairs if may_stay or expected is not None}
        if answers:
            tests |= answers
            used_names |= {prompts_name, answers_name}
    if tests:
        correction["tests"] = [{"question": text, "answer": expected} for text, expected in tests.items()]
    unused_fields = sorted(name for name in fields.keys() - used_names if fields[name])
    return correction, () if teach_rephrased else tuple(held_out), tuple(unused_fields)


def _iterate_prompts(prompts: Any, answers: Any) -> Iterator[tuple[str, Any]]:
    """Yield each prompt with its answer, None without one.

    Args:
        prompts: A text; an object with a prompt; or lists of these, also under the names of their kinds.
        answers: The answer of a text; for a list of texts perhaps a list of the same length.
    """
    pending = [(prompts, answers)]
    while pending:
        value, answer = pending.pop()
        if isinstance(value, dict):
            names = next((names for names in OBJECT if names[0] in value), None)
            pending.append((value[names[0]], value.get(names[1])) if names else ([*value.values()], None))
        elif isinstance(value, list):
            is_parallel = isinstance(answer, list) and len(answer) == len(value)
            parts = zip(value, answer if is_parallel else [answer] * len(value), strict=True)
            pending += reversed(list(parts))
        elif isinstance(value, str) and value.strip():
            yield value.removeprefix(MARK), _first(answer) or None


def _first(answer: Any) -> Any:
    """Return the first spelling of an answer; KnowEdit nests lists of them."""
    while isinstance(answer, list):
        answer = answer[0] if answer else None
    return answer
