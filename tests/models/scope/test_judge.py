"""The judge gives the same bits whatever it is asked beside, and refuses files that are not its own.

The questions that another version answers differently are found without judging most of them, and none is missed.
"""

import json
import shutil
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

from models.blocks import Block
from models.encoder.minilm import MiniLM
from models.encoder.pairs import PairLayers
from models.kit.checkpoint import WEIGHTS, CheckpointError, parse_tensors, write_sums
from models.nkb.reader import Reader
from models.scope.change import Rerouting
from models.scope.judge import DEFAULT, FILES, Judge
from models.scope.router import Router
from models.scope.values import spell_values
from models.scope.wordings.table import WordingTable
from models.training.scope.training import read_weights
from models.training.scope.trials import read_near
from tests.hypotheses import examples
from tests.models.scope.wordings import block, table


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    return MiniLM()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEFAULT, tmp_path / "scope"))


def test_a_score_is_the_same_bits_alone_in_company_and_after_a_restart(encoder: MiniLM) -> None:
    judge, replica = Judge.load(encoder), Judge.load(encoder)
    texts = [question.text for question in read_near().questions[:60]]
    pairs = list(pairwise(map(judge.tokens, texts)))
    cosines = torch.zeros(len(pairs))
    together = judge(pairs, cosines)
    alone = torch.cat([replica([pair], cosines[:1]) for pair in reversed(pairs)]).flip(0)
    assert torch.equal(together, alone)
    assert len(set(together.tolist())) > 50


def test_what_torch_reads_on_a_gpu_is_what_8_bits_read(
    encoder: MiniLM, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = PairLayers(encoder, read_weights(DEFAULT / WEIGHTS), in_8_bits=True)
    exact = PairLayers(MiniLM(device=device), read_weights(DEFAULT / WEIGHTS), in_8_bits=False)
    assert (quick.engine, exact.engine) == ("onnxruntime, 8 bits", f"torch, float32, {device}")
    judge = Judge.load(encoder)
    pairs = list(pairwise(judge.tokens(question.text) for question in read_near().questions[:80]))
    raw, expected = quick(pairs), exact(pairs)
    assert judge.engine == quick.engine
    assert expected.std() > 2
    assert (raw - expected).square().mean().sqrt() < 0.1
    monkeypatch.setattr("models.encoder.pairs.SLOTS_ON_GPU", 200)
    torch.testing.assert_close(exact(pairs), expected, atol=1e-4, rtol=1e-4)
    assert len(exact([])) == 0


def test_a_long_text_and_a_script_that_the_encoder_does_not_read_are_judged(encoder: MiniLM) -> None:
    judge = Judge.load(encoder)
    texts = [judge.tokens(text) for text in ("mayor " * 4_000, "市长是谁?", "")]
    assert all(
        bool(judge([(first, second)], torch.zeros(1)).isfinite()) for first in texts for second in texts
    )


@pytest.mark.parametrize("name", ["out", "sides", "encoder.layer.5.output.dense.weight"])
@pytest.mark.parametrize("change", [lambda _: None, lambda weight: weight[:-1]])
def test_weights_that_are_no_judges_are_refused(
    encoder: MiniLM, folder: Path, name: str, change: Callable[[Tensor], Tensor | None]
) -> None:
    path = folder / WEIGHTS
    weights = parse_tensors(path.read_bytes(), path)
    changed = {name: change(weights.pop(name))}
    save_file(weights | {name: value.clone() for name, value in changed.items() if value is not None}, path)
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match=r"model\.safetensors has no weights of a judge"):
        Judge.load(encoder, folder)


def test_a_configuration_without_a_calibration_is_refused(encoder: MiniLM, folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"calibration": {"slope": 1.0}}))
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        Judge.load(encoder, folder)


PERU, CHILE = "What is the capital of Peru?", "What is the capital of Chile?"
QUESTIONS = [
    PERU,
    CHILE,
    "Which city is Peru's capital?",
    "What is the motto of Gundbrand?",
    "What is the motto of Gundebrand?",
    "Who wrote Hamlet?",
    "Who leads project 7?",
    "Which person is the leader of project 7?",
]


@cache
def edits(reader: Reader) -> tuple[Router, WordingTable, list[Block]]:
    router = Router(reader.scope, lambda questions: reader.read(questions).readings, "bank")
    return router, table(reader), [
        block(reader, "a", 1, PERU),
        block(reader, "b", 2, CHILE),
        block(reader, "c", 3, PERU, replaces=["a"]),
        block(reader, "d", 4, "Who leads project 7?", counterexamples=["Which person is the leader of project 7?"]),
        block(reader, "e", 5, "What is the motto of Gundebrand?"),
        block(reader, "f", 6, "Who is the author of Hamlet?"),
    ]  # fmt: skip


@given(st.lists(st.sets(st.integers(0, 5)), min_size=2, max_size=4))
@examples(40)
def test_a_question_is_told_where_its_routes_differ(reader: Reader, versions: list[set[int]]) -> None:
    router, wordings, blocks = edits(reader)
    views = [wordings.view([blocks[place] for place in sorted(version)]) for version in versions]
    routes = [router.find_routes(QUESTIONS, [view] * len(QUESTIONS)) for view in views]
    keys = [[None if match is None else match.block.key for match in version] for version in routes]
    expected = [[key != other for key, other in zip(*step, strict=True)] for step in pairwise(keys)]
    assert router.find_rerouted(QUESTIONS, *views) == expected


def test_questions_far_from_a_change_are_not_judged(reader: Reader) -> None:
    _, wordings, blocks = edits(reader)
    old, new = wordings.view(blocks[:1]), wordings.view([blocks[0], blocks[3]])
    readings = reader.read(QUESTIONS).readings
    assert Rerouting(reader.scope).may_be_rerouted(readings, old, new)[0][-2:] == [True, True]
    assert not any(Rerouting(reader.scope).may_be_rerouted(readings, old, new)[0][:6])


def test_a_near_question_costs_a_judgement_of_what_changed_alone(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    capitals = [f"What is the capital of {name}?" for name in ("Chile", "Cuba", "Mali", "Laos", "Togo")]
    blocks = [block(reader, f"x{n}", n, text) for n, text in enumerate(capitals)]
    wordings = table(reader)
    old, new = wordings.view(blocks[:-1]), wordings.view(blocks)
    n_pairs: list[int] = []
    judge = type(reader.scope).judge_candidates

    def count(*arguments: Any) -> torch.Tensor:
        n_pairs.append(len(arguments[-1].question))
        return judge(*arguments)

    monkeypatch.setattr(type(reader.scope), "judge_candidates", count)
    questions = ["What is the capital of Niger?", "Tell me the capital of Togo"]
    assert Rerouting(reader.scope).may_be_rerouted(reader.read(questions).readings, old, new) == [
        [False, True]
    ]
    assert sum(n_pairs) <= len(questions)


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Which treaty was signed on 12 June 2010?", "Which treaty was signed on June 12th, 2010?"),
        ("Which bolt is 51.0 mm long?", "Which bolt is 51 mm long?"),
        ("Which bolt is 4,20 mm long?", "Which bolt is 4.2 mm long?"),
        ("Which street has sixteen lamps?", "Which street has 16 lamps?"),
        ("Who ruled after Louis XIV?", "Who ruled after Louis 14?"),
    ],
)
def test_the_layers_see_one_spelling_of_a_value(encoder: MiniLM, question: str, other: str) -> None:
    judge = Judge.load(encoder)
    assert judge.tokens(question) == judge.tokens(other)


def test_a_signed_figure_is_not_a_time_of_day() -> None:
    assert spell_values("Which lens has +4.00?") != spell_values("Which lens has 4:00?")
