"""One cell of the scoreboard: a method, a number of edits, a seed. All shares are kept as counts."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.editing_methods.draw import EditRequest, Stream
from tests.bench.editing_methods.editors import EditedModel, Editor
from tests.bench.editing_methods.model import Reply
from tests.bench.timing import measure_interleaved

ALL_FORMS = 1_000  # edits up to which every held phrasing is asked; beyond, one phrasing for each edit
ASKED_BACK = 2_000  # kept, and reverted, edits that are asked after half were reverted
FIRST = 100  # edits whose state at the end is compared with their state when they were the newest
REMADE = 1_000  # edits up to which half of them are made again, to compare bits
RATE_QUESTIONS, ROUNDS = 512, 3  # questions, and repetitions, for the answers in a second
BUSY = 100  # edits from which the answers in a second are measured

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


def score(editor: Editor, streams: Sequence[Stream], base: Base) -> Scores:
    counts, figures = Counts(), defaultdict[str, list[float]](list)
    for stream in streams:
        model = editor.apply(stream.requests)
        count_answers(model, stream, base, counts)
        _count_reverts(editor, model, stream, base, counts)
        if len(stream.requests) > FIRST:
            _count_first_edits(editor, model, stream, counts)
        for name in ("edit_ms", "bytes_per_edit", "rows_per_slot"):
            figures[name].append(getattr(model, name))
        if len(stream.requests) >= BUSY and not figures["rate"]:
            figures["rate"].append(_measure_rate(editor, model, stream))
    return Scores(counts, {name: sum(values) / len(values) for name, values in figures.items()})


def count_answers(model: EditedModel, stream: Stream, base: Base, counts: Counts) -> None:
    requests = stream.requests
    paraphrases = {request.id: _pick_paraphrases(request, len(requests)) for request in requests}
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


def _count_reverts(editor: Editor, model: EditedModel, stream: Stream, base: Base, counts: Counts) -> None:
    """Revert a random half; if there is one edit, that one."""
    rng = random.Random(len(stream.requests))
    reverted_ids = set(
        rng.sample([request.id for request in stream.requests], (len(stream.requests) + 1) // 2)
    )
    kept_requests = [request for request in stream.requests if request.id not in reverted_ids]
    reverted_requests = [request for request in stream.requests if request.id in reverted_ids]
    remaining = model.with_only({request.id for request in kept_requests})
    kept_sample, reverted_sample = (
        rng.sample(requests, min(ASKED_BACK, len(requests)))
        for requests in (kept_requests, reverted_requests)
    )
    replies = _ask(remaining, [request.question for request in kept_sample + reverted_sample])
    counts.add("kept", [_is_hit(remaining, request, replies[request.question]) for request in kept_sample])
    before = base([request.question for request in reverted_sample])
    counts.add(
        "back",
        [replies[request.question].best == b for request, b in zip(reverted_sample, before, strict=True)],
    )
    if len(stream.requests) <= REMADE or editor.name == "gated":
        counts.add("bits", [remaining.digest == editor.fresh_copy().apply(kept_requests).digest])


def _count_first_edits(editor: Editor, model: EditedModel, stream: Stream, counts: Counts) -> None:
    first = stream.requests[:FIRST]
    for name, state in (
        ("first, then", model.with_only({request.id for request in first})),
        ("first, now", model),
    ):
        replies = _ask(state, [request.question for request in first])
        counts.add(name, [_is_hit(state, request, replies[request.question]) for request in first])


def _measure_rate(editor: Editor, model: EditedModel, stream: Stream) -> float:
    """Measure answers in a second with these edits, as a share of those without edits, encoder included."""
    texts = [question for questions in stream.bystanders.values() for question in questions][:RATE_QUESTIONS]
    unedited_model = editor.apply(())
    seconds = measure_interleaved(
        {
            "none": lambda: unedited_model.without_cache().say(texts),
            "edited": lambda: model.without_cache().say(texts),
        },
        ROUNDS,
    )
    return seconds["none"] / seconds["edited"]


def _pick_paraphrases(request: EditRequest, n: int) -> Sequence[str]:
    return request.paraphrases if n <= ALL_FORMS else [random.Random(request.id).choice(request.paraphrases)]


def _ask(model: EditedModel, questions: Sequence[str]) -> dict[str, Reply]:
    distinct = list(dict.fromkeys(questions))
    return dict(zip(distinct, model.say(distinct), strict=True))


def _is_hit(model: EditedModel, request: EditRequest, reply: Reply) -> bool:
    return request.id in model.applied and reply.answer == request.answer
