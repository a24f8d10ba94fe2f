"""The scoreboard end to end, with both methods, on the default checkpoint and few facts."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from models.packs.pack import Pack
from tests.bench.editing_methods import __main__ as bench
from tests.bench.editing_methods import draw
from tests.bench.editing_methods.editors import clean

N = 4


def test_both_methods_are_scored_once_and_what_is_known_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = replace(draw.SMALL, streams={}, bystanders=12)
    monkeypatch.setattr(draw, "SAMPLES", {"small": sample})
    path = tmp_path / "cells.jsonl"
    options = ["--sizes", str(N), "--seeds", "1", "--sample", "small", "--workloads", bench.FACTS]
    command = ["bench", *options, "--results", str(path), "--methods", *bench.EDITORS, bench.PRODUCT]
    monkeypatch.setattr(sys, "argv", command)
    bench.main()
    cells = {cell["method"]: cell["counts"] for cell in map(json.loads, path.read_text().splitlines())}
    assert [*cells] == [*bench.EDITORS]
    for counts in cells.values():
        assert counts["reliability"] == [N, N]
        assert counts["generalisation"][1] == 3 * N
        assert counts["kept"] == counts["back"] == [N // 2, N // 2]
        assert counts["random"][1] == 12
    assert cells[bench.PRODUCT]["same bits"] == [1, 1]
    assert capsys.readouterr().out.count("reliability 100.0") == 2


def test_locality_is_the_worst_of_seeds_and_kinds_and_does_not_rise() -> None:
    def cell(n: int, seed: int, neighbours: int, sample: str = "full") -> bench.Cell:
        counts = {"neighbours": [neighbours, 100], "same subject": [99, 100], "random": [1, 100]}
        key = (bench.PRODUCT, bench.FACTS, n, seed, sample, "sha256:a")
        return dict(zip(bench.KEY, key, strict=True)) | {"counts": counts}

    cells = [cell(1, 1, 98), cell(1, 2, 97), cell(10, 1, 100), cell(100, 1, 10, "small")]
    locality = bench.find_locality(cells, "sha256:a")
    assert (locality.edits, locality.locality) == ([1, 10], [97.0, 97.0])
    assert bench.find_locality(cells, "sha256:b").edits == []


def test_facts_are_split_by_the_seed_and_bystanders_are_about_no_edited_fact() -> None:
    pack = Pack.load()
    facts = draw.split_facts(pack, 1)
    parts = [item for part in (facts.reference, facts.tuning, facts.test) for item in part]
    assert (
        len({(item.subject.id, item.relation.id) for item in parts}) == len(parts) == len(list(pack.items()))
    )
    assert facts.tuning == draw.split_facts(pack, 2).tuning
    by_question = {
        form: item
        for item in facts.test
        for form in (*draw.held_out_phrasings(item), *draw.trained_phrasings(item))
    }

    def draw_streams(seed: int) -> list[draw.Stream]:
        answers = draw.Answers(parts)
        return [*draw.draw_streams(facts.test, 200, seed, lambda texts: ["as before"] * len(texts), answers)]

    (stream,) = draw_streams(1)
    assert draw_streams(1) == [stream] != draw_streams(2)
    items = [by_question[request.question] for request in stream.requests]
    assert all(request.answer != item.answer for request, item in zip(stream.requests, items, strict=True))
    keys, subjects = {(item.subject.id, item.relation.id) for item in items}, {i.subject.id for i in items}
    for (kind, _), questions in stream.bystanders.items():
        for item in (by_question[question] for question in questions):
            assert (item.subject.id, item.relation.id) not in keys
            assert (item.subject.id in subjects) == (kind == "same subject")


def test_a_question_is_compared_after_nfc_and_without_outer_space() -> None:
    assert clean(" Malmo\u0308 \n") == "Malm\u00f6"
