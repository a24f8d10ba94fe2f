"""One cell of the scoreboard: a method, a number of edits, a seed. All shares are kept_requests as counts."""

import random
from collections.abc import Callable, Sequence

from tests.bench.editing_methods.draw import EditRequest, Sample, Stream
from tests.bench.editing_methods.editors import EditedModel, EditedProduct, Reply

Base = Callable[[Sequence[str]], list[str]]  # answers of the unedited model
Edit = Callable[[Sequence[EditRequest]], EditedModel]


class Counts(dict[str, list[int]]):
    """[right, asked] by name."""

    def add(self, name: str, right: Sequence[bool]) -> None:
        count = self.setdefault(name, [0, 0])
        count[0] += sum(right)
        count[1] += len(right)


def score(edit: Edit, streams: Sequence[Stream], base: Base, sample: Sample) -> Counts:
    """Make the edits of each stream, ask for them and for what is near, and take a random half back."""
    counts = Counts()
    for stream in streams:
        model = edit(stream.requests)
        count_answers(model, stream, base, counts, sample)
        _count_reverts(edit, model, stream, base, counts, sample)
    return counts


def count_answers(model: EditedModel, stream: Stream, base: Base, counts: Counts, sample: Sample) -> None:
    requests = stream.requests
    has_all_forms = len(requests) <= sample.all_forms
    paraphrases = [
        (request, text) for request in requests for text in _pick_paraphrases(request, has_all_forms)
    ]
    texts = [request.question for request in requests] + [text for _, text in paraphrases]
    replies = _ask(model, texts + [text for questions in stream.bystanders.values() for text in questions])
    counts.add("refused", [request.id not in model.applied for request in requests])
    counts.add("reliability", [_is_hit(model, request, replies[request.question]) for request in requests])
    counts.add("generalisation", [_is_hit(model, request, replies[text]) for request, text in paraphrases])
    for (kind, _), questions in stream.bystanders.items():
        before = base(questions)
        counts.add(kind, [replies[q].best == b for q, b in zip(questions, before, strict=True)])


def _count_reverts(
    edit: Edit, model: EditedModel, stream: Stream, base: Base, counts: Counts, sample: Sample
) -> None:
    """Take a random half back: the rest stands, the others are as before, and so are the rows, bit for bit."""
    requests = stream.requests
    rng = random.Random(f"revert {len(requests)} {requests[0].id}")
    reverted = rng.sample(requests, (len(requests) + 1) // 2)
    kept_requests = [request for request in requests if request not in reverted]
    rest = model.with_only({request.id for request in kept_requests})
    replies = _ask(rest, [request.question for request in (*kept_requests, *reverted)])
    counts.add("kept", [_is_hit(rest, request, replies[request.question]) for request in kept_requests])
    questions = [request.question for request in reverted]
    pairs = zip(questions, base(questions), strict=True)
    counts.add("back", [replies[question].best == before for question, before in pairs])
    if isinstance(rest, EditedProduct) and len(requests) <= sample.remade:
        again = edit(kept_requests)
        assert isinstance(again, EditedProduct)
        counts.add("same bits", [rest.image.checksum == again.image.checksum])


def _pick_paraphrases(request: EditRequest, has_all_forms: bool) -> Sequence[str]:
    return request.paraphrases if has_all_forms else [random.Random(request.id).choice(request.paraphrases)]


def _ask(model: EditedModel, questions: Sequence[str]) -> dict[str, Reply]:
    distinct = list(dict.fromkeys(questions))
    return dict(zip(distinct, model.say(distinct), strict=True))


def _is_hit(model: EditedModel, request: EditRequest, reply: Reply) -> bool:
    return request.id in model.applied and reply.answer == request.answer
