"""EasyEdit's records of edits as corrections with tests (github.com/zjunlp/EasyEdit, easyeditor/dataset).

EasyEdit spells the fields of an edit in three ways,

    prompt, target_new, rephrase_prompt       CounterFact and KnowEdit as EasyEdit ships them
    src, alt, rephrase                        zsRE
    update, ans, rephrase                     WikiBigEdit

and CounterFact's authors have prompt, subject and target_new in an object `requested_rewrite`. A prompt may leave a
place for its subject, `{}` or another of BLANK.

The rephrased prompt measures whether an edit carries over to other words: EasyEdit never shows it to the editor. So it
becomes a test of the edit, as prompts of portability do, which follow from the edit, and prompts of locality, whose
answers have to stay. They have separate fields, or stand under `locality` and `portability`, in lists under the names
of their kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

QUESTION = ("prompt", "src", "update")
ANSWER = ("target_new", "alt", "ans")
REPHRASING = ("rephrase_prompt", "rephrase", "paraphrase_prompts")
REWRITE = "requested_rewrite"  # the field in which CounterFact as its authors ship it has the edit
PROMPTS = (  # a field of prompts, the one of their answers, and whether a prompt without an answer is a test
    ("loc", "loc_ans", True),
    ("locality_prompt", "locality_ground_truth", True),
    ("locality", "", True),
    ("neighborhood_prompts", "", True),
    ("mhop", "mhop_ans", False),
    ("portability_prompt", "portability_ground_truth", False),
    ("portability", "", False),
)
OBJECT = (("prompt", "ground_truth"), ("New Question", "New Answer"))  # names of a prompt and its answer
BLANK = re.compile(
    r"\{(?:0|subject)?\}|\[(?:X|subject)\]|<subject>|%s\b"
)  # the place of the subject in a prompt
MARK = "nq question: "  # what zsRE puts before a question of locality
Fields = Mapping[str, Any]


def is_easyedit(fields: Fields) -> bool:
    return "question" not in fields and any(name in fields for name in (*QUESTION, *ANSWER[:2], REWRITE))


def from_easyedit(fields: Fields) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of the correction, and the names of unused fields; ValueError for a subject that is missing."""
    rewrite = fields.get(REWRITE)
    fields = {**fields, **rewrite} if isinstance(rewrite, dict) else fields
    question_name, answer_name, rephrased_name = (
        next((name for name in names if name in fields), names[0]) for names in (QUESTION, ANSWER, REPHRASING)
    )
    fill = partial(fill_subject, subject=fields.get("subject"))
    question, answer = fill(fields.get(question_name)), _first(fields.get(answer_name))
    correction = {
        name: value for name, value in (("question", question), ("answer", answer)) if value is not None
    }
    tests = {fill(prompt): answer for prompt, _ in _iterate_prompts(fields.get(rephrased_name), None)}
    used_names = {question_name, answer_name, rephrased_name, "subject", REWRITE}
    for prompts_name, answers_name, may_stay in PROMPTS:
        pairs = _iterate_prompts(fields.get(prompts_name), fields.get(answers_name))
        answers = {fill(prompt): expected for prompt, expected in pairs if may_stay or expected is not None}
        if answers:
            tests |= answers
            used_names |= {prompts_name, answers_name}
    if tests:
        correction["tests"] = [{"question": text, "answer": expected} for text, expected in tests.items()]
    return correction, tuple(sorted(name for name in fields.keys() - used_names if fields[name]))


def fill_subject(prompt: Any, subject: Any) -> Any:
    """Return a prompt with its subject in the place that a template leaves for it.

    Raises:
        ValueError: There is a place and no subject.
    """
    if not isinstance(prompt, str) or not (blank := BLANK.search(prompt)):
        return prompt
    if not isinstance(subject, str) or not subject.strip():
        if blank[0] == "%s":  # a prompt about code has it, too
            return prompt
        raise ValueError(f"the prompt leaves a place for its subject, {blank[0]}, and `subject` is not there")
    return BLANK.sub(lambda _: subject.strip(), prompt)


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
    """Return the first spelling of an answer; KnowEdit nests lists of them, and CounterFact has objects."""
    while isinstance(answer, list):
        answer = answer[0] if answer else None
    return answer.get("str") if isinstance(answer, dict) else answer
