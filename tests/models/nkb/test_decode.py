"""The fast decoder gives the answers of transformers, whatever else is in the batch.

A gated value makes its token win from every state it was solved for, and from others like them.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.nkb.decode import Decoder
from models.nkb.gated import COARSE, Places, TokenDirections, directions, find_pushes, solve
from models.nkb.positions import buckets
from tests.models.nkb.conftest import assert_same

Build = Callable[..., T5ForConditionalGeneration]
Answers = Callable[..., list[list[int]]]
MAX_TOKENS = 15


def test_answers_equal_those_of_transformers(
    build: Build, kind: dict[str, Any], questions: Any, generate: Any, answers: Answers
) -> None:
    t5 = build((1, 2), **kind)
    expected = generate(t5, questions, MAX_TOKENS)
    assert len({len(row) for row in expected}) > 1, "some answers must end early for this to test anything"
    assert answers(Decoder(t5), questions, MAX_TOKENS) == expected


@pytest.mark.parametrize(
    ("layers", "options"),
    [((), {}), ((3,), {"num_layers": 1, "num_decoder_layers": 4})],
    ids=["a plain T5", "a decoder deeper than its encoder"],
)
def test_without_a_bank_and_with_other_depths_it_is_a_t5(
    build: Build, questions: Any, generate: Any, answers: Answers, layers: Any, options: dict[str, int]
) -> None:
    t5 = build(layers, **options)
    assert answers(Decoder(t5), questions, MAX_TOKENS) == generate(t5, questions, MAX_TOKENS)


def test_an_output_matrix_of_its_own_is_used_unscaled(
    build: Build, questions: Any, generate: Any, answers: Answers
) -> None:
    t5 = build((2,), tie_word_embeddings=False, feed_forward_proj="gated-gelu")
    t5.lm_head.weight = torch.nn.Parameter(0.1 * torch.randn(120, 32))
    assert not t5.config.scale_decoder_outputs
    assert answers(Decoder(t5), questions, MAX_TOKENS) == generate(t5, questions, MAX_TOKENS)


def test_an_answer_does_not_depend_on_its_batch_or_padding(
    build: Build, kind: dict[str, Any], questions: Any
) -> None:
    decoder = Decoder(build((2,), **kind))
    together = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    for index, answer in enumerate(together):
        alone = questions.row(index)
        assert_same(decoder.generate(alone.states, alone.mask, max_tokens=MAX_TOKENS)[0], answer)


def test_a_boolean_mask_means_the_same(build: Build, questions: Any) -> None:
    decoder = Decoder(build())
    answers = decoder.generate(questions.states, questions.mask.bool(), max_tokens=5)
    assert answers == decoder.generate(questions.states, questions.mask, max_tokens=5)


def test_log_probabilities_are_those_of_the_whole_answer(
    build: Build, questions: Any, forced_logits: Any
) -> None:
    t5 = build()
    for index, answer in enumerate(
        Decoder(t5).generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    ):
        targets = torch.tensor([[*answer.tokens, *([1] if answer.finished else [])]])
        logprobs: Tensor = forced_logits(t5, questions.row(index), targets).log_softmax(-1)
        expected = logprobs[0].gather(1, targets.t())[:, 0].tolist()
        assert answer.logprobs == pytest.approx(expected, abs=1e-5)


def test_the_length_limit_counts_the_end_token(build: Build, questions: Any) -> None:
    decoder = Decoder(build(feed_forward_proj="gated-silu"))
    answers = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    index, whole = next((i, answer) for i, answer in enumerate(answers) if answer.finished and answer.tokens)
    question = questions.row(index)
    exact = decoder.generate(question.states, question.mask, max_tokens=len(whole.tokens) + 1)[0]
    cut = decoder.generate(question.states, question.mask, max_tokens=len(whole.tokens))[0]
    assert exact.finished
    assert not cut.finished
    assert cut.tokens == whole.tokens


def test_alternatives_are_the_greedy_answers_from_the_next_best_first_tokens(
    build: Build, questions: Any, forced_logits: Any
) -> None:
    t5 = build()
    decoder = Decoder(t5)
    plain = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    first = forced_logits(t5, questions, torch.zeros(len(questions), 1, dtype=torch.long))[:, 0]
    best_tokens = first.topk(4).indices.tolist()
    for row, answer in enumerate(
        decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, top_first=4)
    ):
        assert_same(answer, plain[row])
        firsts = [(*other.tokens, 1)[0] for other in (answer, *answer.alternatives)]
        assert firsts == best_tokens[row]
        scores = [other.logprobs[0] for other in (answer, *answer.alternatives)]
        assert scores == sorted(scores, reverse=True)


def test_each_question_has_as_many_alternatives_as_it_asks_for(build: Build, questions: Any) -> None:
    decoder = Decoder(build())
    counts = [1, 3, 1, 5, 2, 1, 1, 1, 4, 1, 1, 2]
    answers = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, top_first=counts)
    assert [1 + len(answer.alternatives) for answer in answers] == counts
    full_answers = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, top_first=5)
    for answer, full in zip(answers, full_answers, strict=True):
        assert_same(answer, full)
        for alternative, expected in zip(answer.alternatives, full.alternatives, strict=False):
            assert_same(alternative, expected)


def test_alternatives_go_on_greedily(build: Build, questions: Any, forced_logits: Any) -> None:
    t5 = build()
    question = questions.row(0)
    (answer,) = Decoder(t5).generate(question.states, question.mask, max_tokens=MAX_TOKENS, top_first=3)
    for other in answer.alternatives:
        tokens = [*other.tokens, *([1] if other.finished else [])]
        best = forced_logits(t5, question, torch.tensor([tokens])).argmax(-1)[0].tolist()
        assert best[1:] == tokens[1:]


def test_later_changes_of_the_model_do_not_reach_the_decoder(
    build: Build, questions: Any, answers: Answers
) -> None:
    t5 = build()
    decoder = Decoder(t5)
    before = answers(decoder, questions, MAX_TOKENS)
    with torch.no_grad():
        for parameter in t5.parameters():
            parameter.mul_(-2)
    assert answers(decoder, questions, MAX_TOKENS) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens: 1 to"),
        ({"max_tokens": 10_000}, "max_tokens: 1 to"),
        ({"max_tokens": [5, 5]}, "max_tokens: 2 numbers for a batch of 12"),
        ({"max_tokens": 5, "top_first": 0}, "top_first: 1 to 120"),
        ({"max_tokens": 5, "top_first": 121}, "top_first: 1 to 120"),
        ({"max_tokens": 5, "top_first": [2, 3]}, "top_first: 2 numbers for a batch of 12"),
        ({"max_tokens": 5, "overlays": [None]}, "1 overlays for a batch of 12"),
    ],
)
def test_a_wrong_option_is_refused_by_name(
    build: Build, questions: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Decoder(build()).generate(questions.states, questions.mask, **options)


def test_an_empty_batch_and_states_of_another_width_are_refused(build: Build, questions: Any) -> None:
    decoder = Decoder(build())
    with pytest.raises(ValueError, match="at least one question"):
        decoder.generate(questions.states[:0], questions.mask[:0], max_tokens=5)
    with pytest.raises(ValueError, match="31 wide, the decoder reads 32"):
        decoder.generate(questions.states[..., :31], questions.mask, max_tokens=5)


@pytest.mark.parametrize(("n_buckets", "farthest"), [(32, 128), (16, 40)])
def test_distances_fall_into_t5s_buckets(build: Build, n_buckets: int, farthest: int) -> None:
    attention = (
        build((), relative_attention_num_buckets=n_buckets, relative_attention_max_distance=farthest)
        .decoder.block[0]
        .layer[0]
        .SelfAttention
    )
    distance = torch.arange(200)
    expected = attention._relative_position_bucket(-distance, False, n_buckets, farthest)
    assert buckets(distance, n_buckets, farthest).equal(expected)


TOKENS, D, EPSILON = 200, 32, 1e-6


@pytest.fixture(scope="module")
def head() -> torch.Tensor:
    return torch.randn(TOKENS, D, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def states() -> torch.Tensor:
    return 5 * torch.randn(64, D, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def pushes(head: torch.Tensor, states: torch.Tensor) -> TokenDirections:
    return find_pushes(head, states)


def values(
    pushes: TokenDirections, head: torch.Tensor, answer_states: torch.Tensor, tokens: list[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Solve one value for each step. own: [wording, step, d]."""
    wordings, steps, _ = answer_states.shape
    rows = torch.arange(steps).repeat(wordings)
    places = Places(answer_states.flatten(0, 1), torch.tensor(tokens)[rows], rows)
    strengths, leads = solve(head, EPSILON, pushes, places, steps)
    return pushes.values(torch.tensor(tokens), strengths), leads


def test_the_wanted_token_wins_from_every_state(
    pushes: TokenDirections, head: torch.Tensor, states: torch.Tensor
) -> None:
    answer_states = 20 * torch.randn(2, 1, D, generator=torch.Generator().manual_seed(3))
    for token in range(0, TOKENS, 17):
        rows, lead = values(pushes, head, answer_states, [token])
        x = torch.cat([states, answer_states[:, 0]]) + rows
        logits = x / (x.pow(2).mean(-1, keepdim=True) + EPSILON).sqrt() @ head.T
        assert (logits.argmax(-1) == token).all()
        best = logits[-2:].topk(2).values
        assert float((best[:, 0] - best[:, 1]).min()) == pytest.approx(float(lead), rel=1e-4)


def test_it_wins_from_states_it_never_saw(
    pushes: TokenDirections, head: torch.Tensor, states: torch.Tensor
) -> None:
    unseen_states = 5 * torch.randn(500, D, generator=torch.Generator().manual_seed(2))
    rows, _ = values(pushes, head, states[:1, None], [7])
    assert (((unseen_states + rows) @ head.T).argmax(-1) == 7).float().mean() > 0.97


def test_a_token_shadowed_by_a_longer_one_is_still_reached(head: torch.Tensor) -> None:
    embedding = head.clone()
    embedding[1] = 1.05 * embedding[0] + 0.3 * embedding[2]
    assert int((embedding @ embedding[0]).argmax()) == 1
    units, gaps = directions(embedding, torch.tensor([0, 3]))
    assert (gaps > 0).all()
    assert (embedding @ units.T).argmax(0).tolist() == [0, 3]


def test_a_token_that_cannot_win_is_told_by_its_gap() -> None:
    assert not (find_pushes(torch.ones(3, 4), torch.zeros(1, 4)).gaps > 0).any()


def test_a_whole_answer_has_a_row_for_each_token(
    pushes: TokenDirections, head: torch.Tensor, states: torch.Tensor
) -> None:
    rows, lead = values(pushes, head, states[:6].view(2, 3, D), [4, 5, 1])
    assert rows.shape == (3, D)
    assert (lead > 0).all()


def test_a_strength_has_the_same_bits_whatever_is_solved_with_it(
    pushes: TokenDirections, head: torch.Tensor, states: torch.Tensor
) -> None:
    first = Places(9 * states[:1], torch.tensor([9]), torch.tensor([0]))
    places = Places(torch.cat([9 * states[:1], states]), torch.tensor([9, *range(64)]), torch.arange(65))
    alone, together = (solve(head, EPSILON, pushes, part, len(part.row))[0] for part in (first, places))
    assert together[0] == alone[0]
    assert float(alone[0]) % COARSE == 0
