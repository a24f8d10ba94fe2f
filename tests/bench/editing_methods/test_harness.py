"""The scoreboard end to end, with every method, on the default checkpoint with fewer slots and few facts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import T5Config

from models.checkpoint import CONFIG, WEIGHTS
from models.nkb.backbone import build
from models.nkb.bank import BankConfig, mount
from models.nkb.decode import Decoder
from models.nkb.reader import DEFAULT, Reader
from models.packs.pack import Pack
from tests.bench.editing_methods import draw, lookups, paper, report, results, score
from tests.bench.editing_methods.cells import FACTS, METHODS, Cells, settings
from tests.bench.editing_methods.editors import Product
from tests.bench.editing_methods.model import Model, clean
from tests.bench.editing_methods.run import jobs, remaining_jobs, run
from tests.bench.editing_methods.settings import COLUMNS, TRAINED
from tests.one_thread import one_thread as one_thread

SLOTS, EDITS = 256, 4
SAMPLE = replace(draw.SMALL, streams={}, bystanders=4, rate_questions=1)


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load()


@pytest.fixture(scope="module")
def model() -> Model:
    """Load the model with the first of the bank's slots only, so that work on the bank is quick."""
    raw = json.loads((DEFAULT / CONFIG).read_text()) | {"ex_size": SLOTS}
    t5 = build(T5Config.from_dict(raw))
    mount(t5, BankConfig.parse(raw))
    weights = load_file(DEFAULT / WEIGHTS)
    for name in weights:
        if "wi_ex" in name:
            weights[name] = weights[name][:SLOTS].clone()
        elif "wo_ex" in name:
            weights[name] = weights[name][:, :SLOTS].clone()
    t5.load_state_dict(weights, strict=False)
    t5.eval().requires_grad_(False)
    return Model(replace(Reader.load(), t5=t5, decoder=Decoder(t5)))


@pytest.fixture
def cells(model: Model, pack: Pack, monkeypatch: pytest.MonkeyPatch) -> Cells:
    for module, name, value in (
        (draw, "REFERENCE", 30),
        (paper, "EDITS", 2),
        (paper, "LAMBDAS", (1.0,)),
        (score, "FIRST", 2),
        (score, "BUSY", EDITS),
        (score, "ROUNDS", 1),
        (score, "ALONE", 1),
        (lookups, "ALONE", 1),
    ):
        monkeypatch.setattr(module, name, value)
    return Cells(model, pack, SAMPLE)


def test_every_method_is_scored_once_and_the_table_names_it(cells: Cells, tmp_path: Path) -> None:
    path, requested_jobs = (
        tmp_path / "results.jsonl",
        list(jobs(METHODS, (FACTS,), ("paper", str(EDITS)), (1,))),
    )
    run(cells, requested_jobs, path)
    last_results = results.latest(path)
    for name in METHODS:
        cell = last_results[name, FACTS, str(EDITS), 1]
        counts, figures = cell["counts"], cell["figures"]
        assert counts["reliability"][1] == EDITS
        assert counts["generalisation"][1] == 3 * EDITS
        assert counts["bits"] == [1, 1], name
        assert counts["back"][1] == EDITS // 2
        assert figures["bytes_per_edit"] > 0, name
        assert figures["rate"] > 0
        assert "added_ms" in figures
    gated = last_results["gated", FACTS, str(EDITS), 1]["counts"]
    assert gated["reliability"] == [EDITS, EDITS]
    assert gated["back"] == [EDITS // 2, EDITS // 2]
    assert not remaining_jobs(cells, requested_jobs, path)
    run(cells, requested_jobs, path)
    assert len(path.read_text().splitlines()) == len(last_results)
    table = report.table(last_results, last_results, METHODS, (FACTS,))
    mark = report.SMALL_SAMPLE
    assert all(table.count(f"| {name} {mark} |") == 3 for name in METHODS)
    assert all(f"| {name} | {TRAINED[name]} |" in table for name in METHODS)
    assert "surgery, lambda 1" in table
    assert [line.name for line in report.lines(last_results, METHODS)] == [*METHODS]


def test_a_cell_is_measured_again_when_it_rests_on_something_else(cells: Cells, tmp_path: Path) -> None:
    path, job = tmp_path / "results.jsonl", ("cosine cache", FACTS, "10", 1)
    assert remaining_jobs(cells, [job], path) == [job]
    known_cell = cell(*job[:1], "10", 10) | {"settings": settings(job[0]), "rests_on": cells.rests_on(job[0])}
    results.append(path, known_cell)
    assert remaining_jobs(cells, [job], path) == []
    results.append(path, known_cell | {"rests_on": "sha256:other"})
    assert remaining_jobs(cells, [job], path) == [job]
    results.append(path, known_cell | {"settings": {"threshold": 0.123}})
    assert remaining_jobs(cells, [job], path) == [job]


@pytest.mark.parametrize(
    ("cell_sample", "is_known"), [("full", True), (SAMPLE.name, True), ("another", False)]
)
def test_a_cell_of_the_full_sample_stands_for_a_smaller_one(
    cells: Cells, tmp_path: Path, cell_sample: str, is_known: bool
) -> None:
    path, job = tmp_path / "results.jsonl", ("cosine cache", FACTS, "10", 1)
    about = {"settings": settings(job[0]), "rests_on": cells.rests_on(job[0]), "sample": cell_sample}
    results.append(path, cell(*job[:1], "10", 10) | about)
    assert (remaining_jobs(cells, [job], path) == []) is is_known


def test_methods_with_other_code_rest_on_other_digests(cells: Cells) -> None:
    digests = {name: cells.rests_on(name) for name in (*METHODS, "surgery, lambda 1")}
    assert len(set(digests.values())) == len(METHODS) + 1
    assert cells.rests_on("memit") == ""


def test_older_results_are_shown_with_a_mark_where_there_are_no_present_ones() -> None:
    old = {
        ("memit", FACTS, "10", 1): cell("memit", "10", 90),
        ("gated", FACTS, "10", 1): cell("gated", "10", 90),
    }
    current = {("gated", FACTS, "10", 1): cell("gated", "10", 100)}
    table = report.table(old, current, ("gated", "memit", "grace"), (FACTS,))
    assert f"| memit {report.STALE} | **90.0**" in table
    assert "| gated | **100.0**" in table
    assert "| grace | not run |" in table
    lines = report.lines(report.choose_shown(old, current), COLUMNS)
    assert {line.name: line.points["reliability"] for line in lines} == {
        "gated": [(10, 100.0)],
        "memit": [(10, 90.0)],
    }


def test_the_product_without_edits_says_what_the_peers_base_says(model: Model, pack: Pack) -> None:
    questions = [draw.held_out_phrasings(item)[0] for item in draw.split_facts(pack, 1).test[:32]]
    assert [reply.best for reply in Product(model).apply(()).say(questions)] == model.base(questions)


def test_the_three_sets_of_facts_are_disjoint_and_all_there_is(pack: Pack) -> None:
    for seed in (1, 2):
        facts = draw.split_facts(pack, seed)
        parts = [facts.reference, facts.tuning, facts.test]
        assert [len(facts.reference), len(facts.tuning)] == [draw.REFERENCE, draw.TUNING]
        keys = [(item.subject.id, item.relation.id) for part in parts for item in part]
        assert len(keys) == len(set(keys)) == len(list(pack.items()))


def test_the_tuning_facts_are_the_same_for_every_seed(pack: Pack) -> None:
    assert draw.split_facts(pack, 1).tuning == draw.split_facts(pack, 2).tuning
    assert draw.split_facts(pack, 1).test != draw.split_facts(pack, 2).test


def draw_streams(pack: Pack, n: int, seed: int = 1) -> list[draw.Stream]:
    items = draw.split_facts(pack, seed).test
    base_answers = {draw.canonical_question(item): f"base {item.answer}" for item in items}
    answers = draw.Answers(list(pack.items()))
    return list(
        draw.draw_streams(
            items, n, seed, lambda questions: [base_answers[question] for question in questions], answers
        )
    )


def test_a_target_is_another_answer_of_the_relation(pack: Pack) -> None:
    answers = {(item.relation.id, item.answer) for item in pack.items()}
    items = {draw.canonical_question(item): item for item in draw.split_facts(pack, 1).test}
    for stream in draw_streams(pack, 200):
        for request in stream.requests:
            item = items[request.question]
            assert (item.relation.id, request.answer) in answers
            assert request.answer != item.answer


def test_bystanders_are_about_facts_that_no_edit_is_about(pack: Pack) -> None:
    facts_by_question = {
        form: (item.subject.id, item.relation.id)
        for item in draw.split_facts(pack, 1).test
        for form in (*draw.held_out_phrasings(item), *draw.trained_phrasings(item))
    }
    for stream in draw_streams(pack, 200):
        edited_facts = {facts_by_question[request.question] for request in stream.requests}
        subjects, relations = (
            {subject for subject, _ in edited_facts},
            {relation for _, relation in edited_facts},
        )
        for (kind, _), questions in stream.bystanders.items():
            facts = {facts_by_question[question] for question in questions}
            assert not facts & edited_facts
            assert all((subject in subjects) == (kind == "same subject") for subject, _ in facts)
            assert kind != "neighbours" or {relation for _, relation in facts} <= relations


def test_the_same_seed_draws_the_same_edits(pack: Pack) -> None:
    assert draw_streams(pack, 200) == draw_streams(pack, 200)
    assert draw_streams(pack, 200) != draw_streams(pack, 200, seed=2)


def cell(method: str, n: str, right: int, seconds: float = 10.0) -> dict[str, Any]:
    about = {"method": method, "workload": FACTS, "n": n, "seed": 1, "sample": "full"}
    figures = {"counts": {"reliability": [right, 100]}, "figures": {}, "seconds": seconds}
    return {**about, **figures, "threads": 1, "at": "2026-11-25T00:00:00+00:00"}


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    results.append(path, cell("memit", "10", 100))
    with path.open("a") as file:
        file.write('{"method": "memit", "n": "100", "se')
    assert list(results.latest(path)) == [("memit", FACTS, "10", 1)]


def test_a_result_after_a_line_that_was_cut_off_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"method": "memit", "n": "100", "se')
    results.append(path, cell("memit", "10", 100))
    assert list(results.latest(path)) == [("memit", FACTS, "10", 1)]


@pytest.mark.parametrize(
    ("right", "n", "is_collapsed"), [(19, "10000", True), (20, "10000", False), (0, "1000", False)]
)
def test_what_fails_at_a_thousand_is_not_run_at_ten_thousand(right: int, n: str, is_collapsed: bool) -> None:
    last_results = {("memit", FACTS, "1000", 1): cell("memit", "1000", right)}
    assert results.has_collapsed(last_results, "memit", FACTS, n) == is_collapsed
    assert not results.has_collapsed(last_results, "memit", "QAEdit", n)


def test_a_cell_is_thought_to_take_what_it_took_with_another_seed() -> None:
    last_results = {
        ("memit", FACTS, "100", 1): cell("memit", "100", 1, 7.0),
        ("memit", FACTS, "1000", 1): cell("memit", "1000", 1, 30.0),
    }
    assert results.seconds(last_results, "memit", "100") == 7.0
    assert results.seconds(last_results, "memit", "10000") > 30.0


def test_the_interval_of_a_share_is_wilsons() -> None:
    assert report.wilson(81, 263) == pytest.approx((25.5, 36.6), abs=0.05)  # Newcombe 1998, table I
    assert report.wilson(0, 20)[0] == 0.0
    assert report.wilson(0, 20)[1] == pytest.approx(16.1, abs=0.05)


def test_a_question_is_compared_after_nfc_and_without_outer_space() -> None:
    assert clean(" Malmo\u0308 \n") == "Malm\u00f6"


def test_a_question_is_answered_the_same_alone_and_among_others(model: Model) -> None:
    questions = [
        "What is the capital of Peru?",
        "Peru's capital?",
        "In which country is the city of Lima today?",
    ]
    together = model.say(questions, [None] * 3)
    assert [model.say([question], [None])[0] for question in questions] == together
    assert torch.equal(model.read(questions[:1])[0].n, model.read(questions[:1])[0].n)
