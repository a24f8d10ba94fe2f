"""One cell of the scoreboard: a method, a number of edits, a seed. All shares are kept as counts."""

import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.editing_methods.draw import FULL, EditRequest, Sample, Stream
from tests.bench.editing_methods.editors import EditedModel, Editor
from tests.bench.editing_methods.model import Reply
from tests.bench.timing import measure_interleaved

FIRST = 100  # edits whose standing at the end is compared with their standing when they were the last
ROUNDS = 3  # how often questions are timed
ALONE = 20  # questions that are timed one by one
BUSY = 75  # edits from which the answers in a second are measured

Base = Callable[[Sequence[str]], list[str]]  # answers of the unedited model


class Counts(dict[str, list[int]]):
    """[right, asked] by name."""

    def add(self, name: str, right: Sequence[bool]) -> None:
        count = self.setdefault(name, [0, 0])
        count[0] += sum(right)
        count[1] += len(right)


@dataclass(frozen=True)
class Scores:
    """figures: means over the cell's streams."""

    counts: Counts
    figures: Mapping[str, float]


def score(editor: Editor, streams: Sequence[Stream], base: Base, sample: Sample = FULL) -> Scores:
    counts, figures = Counts(), defaultdict[str, list[float]](list)
    for stream in streams:
        model = editor.apply(stream.requests)
        count_answers(model, stream, base, counts, sample)
        _count_reverts(editor, model, stream, base, counts, sample)
        if len(stream.requests) > FIRST:
            _count_first_edits(editor, model, stream, counts)
        for name in ("edit_ms", "bytes_per_edit", "rows_per_slot"):
            figures[name].append(getattr(model, name))
        if len(stream.requests) >= BUSY and not figures["rate"]:
            unedited_model = editor.apply(())
            figures["rate"].append(_measure_rate(unedited_model, model, stream, sample))
            figures["added_ms"].append(_measure_added_ms(unedited_model, model, stream))
    return Scores(counts, {name: sum(values) / len(values) for name, values in figures.items()})


def count_answers(
    model: EditedModel, stream: Stream, base: Base, counts: Counts, sample: Sample = FULL
) -> None:
    requests = stream.requests
    has_all_forms = len(requests) <= sample.all_forms
    paraphrases = {request.id: _pick_paraphrases(request, has_all_forms) for request in requests}
    texts = [request.question for request in requests] + [
        paraphrase for questions in paraphrases.values() for paraphrase in questions
    ]
    texts += [question for questions in stream.bystanders.values() for question in questions]
    replies = _ask(model, texts)
    counts.add("refused", [request.id not in model.applied for request in requests])
    counts.add("reliability", [_is_hit(model, request, replies[request.question]) for request in requests])
    counts.add(
        "generalisation",
        [
            _is_hit(model, request, replies[paraphrase])
            for request in requests
            for paraphrase in paraphrases[request.id]
        ],
    )
    for (kind, form), questions in stream.bystanders.items():
        before = base(questions)
        counts.add(f"{kind}, {form}", [replies[q].best == b for q, b in zip(questions, before, strict=True)])


def _count_reverts(
    editor: Editor, model: EditedModel, stream: Stream, base: Base, counts: Counts, sample: Sample
) -> None:
    """A random half; of one edit, that one."""
    rng = random.Random(len(stream.requests))
    reverted_ids = set(
        rng.sample([request.id for request in stream.requests], (len(stream.requests) + 1) // 2)
    )
    kept_requests = [request for request in stream.requests if request.id not in reverted_ids]
    reverted_requests = [request for request in stream.requests if request.id in reverted_ids]
    remaining = model.with_only({request.id for request in kept_requests})
    kept_sample, reverted_sample = (
        rng.sample(requests, min(sample.asked_back, len(requests)))
        for requests in (kept_requests, reverted_requests)
    )
    replies = _ask(remaining, [request.question for request in kept_sample + reverted_sample])
    counts.add("kept", [_is_hit(remaining, request, replies[request.question]) for request in kept_sample])
    before = base([request.question for request in reverted_sample])
    counts.add(
        "back",
        [replies[request.question].best == b for request, b in zip(reverted_sample, before, strict=True)],
    )
    if len(stream.requests) <= sample.remade or (editor.name == "gated" and sample is FULL):
        counts.add("bits", [remaining.digest == editor.fresh_copy().apply(kept_requests).digest])


def _count_first_edits(editor: Editor, model: EditedModel, stream: Stream, counts: Counts) -> None:
    first = stream.requests[:FIRST]
    for name, state in (
        ("first, then", model.with_only({request.id for request in first})),
        ("first, now", model),
    ):
        replies = _ask(state, [request.question for request in first])
        counts.add(name, [_is_hit(state, request, replies[request.question]) for request in first])


def _measure_rate(unedited_model: EditedModel, model: EditedModel, stream: Stream, sample: Sample) -> float:
    """Return the answers in a second with these edits, as a share of those with none, encoder included."""
    texts = _bystanders(stream)[: sample.rate_questions]
    seconds = measure_interleaved(
        {
            "none": lambda: unedited_model.without_cache().say(texts),
            "edited": lambda: model.without_cache().say(texts),
        },
        ROUNDS,
    )
    return seconds["none"] / seconds["edited"]


def _measure_added_ms(unedited_model: EditedModel, model: EditedModel, stream: Stream) -> float:
    """Return how much longer a question takes alone with these edits than with none, median of ALONE bystanders."""
    added_ms = []
    for text in _bystanders(stream)[:ALONE]:
        seconds = measure_interleaved(
            {
                "none": lambda text=text: unedited_model.without_cache().say([text]),  # type: ignore[misc]
                "edited": lambda text=text: model.without_cache().say([text]),  # type: ignore[misc]
            },
            ROUNDS,
        )
        added_ms.append(1e3 * (seconds["edited"] - seconds["none"]))
    return statistics.median(added_ms)


def _bystanders(stream: Stream) -> list[str]:
    return [question for questions in stream.bystanders.values() for question in questions]


def _pick_paraphrases(request: EditRequest, has_all_forms: bool) -> Sequence[str]:
    return request.paraphrases if has_all_forms else [random.Random(request.id).choice(request.paraphrases)]


def _ask(model: EditedModel, questions: Sequence[str]) -> dict[str, Reply]:
    distinct = list(dict.fromkeys(questions))
    return dict(zip(distinct, model.say(distinct), strict=True))


def _is_hit(model: EditedModel, request: EditRequest, reply: Reply) -> bool:
    return request.id in model.applied and reply.answer == request.answer
