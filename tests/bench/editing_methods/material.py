"""The bank as the peers see it, and edits read into rows, once for all of them."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.nkb.reader import END
from models.nkb.trace import Trace, trace
from models.packs.pack import Item
from tests.bench.editing_methods.draw import EditRequest
from tests.bench.editing_methods.methods.method import Bank, Edit, Replay, covariance
from tests.bench.editing_methods.methods.targets import find_targets
from tests.bench.editing_methods.model import Model, batches, pad

PHRASINGS = 3  # of each reference fact that are asked
N_REPLAY = 4_096  # positions of reference answers that may be replayed
RIDGE = 1e-3  # rho, as a share of C0's mean diagonal


def reference_texts(items: Sequence[Item]) -> list[str]:
    """Return questions about the reference facts, and sentences that state these."""
    questions = [item.relation.question(item.subject.label, p) for item in items for p in range(PHRASINGS)]
    statements = [
        item.relation.statements[0].replace("{subject}", item.subject.label).replace("{object}", item.answer)
        for item in items
    ]
    return questions + statements


def build_bank(model: Model, reference: Sequence[Item]) -> Bank:
    """Build C0 and the reference keys from the base's answers to the reference texts."""
    decoder, texts = model.reader.decoder, reference_texts(reference)
    slots = decoder.layers[-1].feed_forward.slots
    assert slots is not None, "the last decoder layer has no bank"
    answers = [_spell(model, answer) for answer in model.base(texts)]
    traces = _traces(model, texts, answers)
    weights = torch.cat([question_trace.a[0] for question_trace in traces])
    x = torch.cat([(question_trace.s + question_trace.ex)[0] for question_trace in traces])
    tokens = torch.cat([torch.tensor(answer) for answer in answers])
    places = torch.arange(0, len(weights), max(1, len(weights) // N_REPLAY))
    replay = Replay(weights[places].half(), x[places], tokens[places])
    n = torch.stack([question.n for question in model.read(texts)])
    return Bank(
        slots.stored_rows, decoder.head_weight, decoder.epsilon, covariance(weights, RIDGE), n, replay
    )


def read_edits(model: Model, requests: Sequence[EditRequest]) -> list[Edit]:
    answers = [_spell(model, request.answer) for request in requests]
    traces = _traces(model, [request.question for request in requests], answers)
    x = [(question_trace.s + question_trace.ex)[0] for question_trace in traces]
    decoder, all_tokens = model.reader.decoder, torch.cat([torch.tensor(tokens) for tokens in answers])
    aims = find_targets(decoder.head_weight, decoder.epsilon, torch.cat(x), all_tokens).split(
        [len(tokens) for tokens in answers]
    )
    return [
        Edit(r.id, r.question, r.answer, torch.tensor(tokens), edit_trace.n[0], edit_trace.a[0], rows, aim)
        for r, tokens, edit_trace, rows, aim in zip(requests, answers, traces, x, aims, strict=True)
    ]


def _spell(model: Model, answer: str) -> list[int]:
    return model.reader.spell(answer)


def _traces(model: Model, questions: Sequence[str], answers: Sequence[list[int]]) -> list[Trace]:
    """Return one trace for each question, cut to its answer."""
    traces: list[Trace] = []
    for batch in batches(list(zip(model.read(questions), answers, strict=True))):
        states, mask = pad([question for question, _ in batch])
        tokens = [torch.tensor(answer) for _, answer in batch]
        read = trace(
            model.reader.decoder, states, mask, pad_sequence(tokens, batch_first=True, padding_value=END)
        )
        traces += [_cut(read, row, len(answer_tokens)) for row, answer_tokens in enumerate(tokens)]
    return traces


def _cut(read: Trace, row: int, length: int) -> Trace:
    def cut(part: Tensor) -> Tensor:
        return part[row : row + 1, :length].clone()

    return Trace(cut(read.n), cut(read.a), cut(read.s), cut(read.ex))
