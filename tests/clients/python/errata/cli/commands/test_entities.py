"""`errata entities` and `errata entity`: the content of the graph, by name or by id, now or at a version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from errata import wire


@pytest.fixture
def two_perus(tiny: Any) -> Any:
    """Two entities are called Peru, and one begins so."""
    peru = tiny.entities[0]
    for id, label in (("wd:Q90", "Paris"), ("http://x.org/Paris, Texas?", "PARIS"), ("p", "Parish")):
        tiny.entities.append(peru.model_copy(update={"id": id, "label": label, "aliases": []}))
    return tiny


def lines(result: Any) -> list[str]:
    return [line.rstrip() for line in result.stdout.splitlines()]


def test_entities_are_listed_with_what_tells_them_apart(run: Any, two_perus: Any) -> None:
    result = run("entities", "paris")
    assert lines(result) == [
        "id                          name    facts  what it is",
        "wd:Q90                      Paris       1  country in South America",
        "http://x.org/Paris, Texas?  PARIS       1  country in South America",
        "p                           Parish      1  country in South America",
    ]
    assert len(lines(run("entities", "paris", "--limit", "2"))) == 3


def test_nothing_of_that_name_is_said(run: Any) -> None:
    assert lines(run("entities", "Xyzzy")) == ["No entity is called so at version 3."]


def test_an_entity_is_shown_with_since_when_each_fact_holds_and_what_was_removed(run: Any) -> None:
    assert lines(run("entity", "wd:Q419")) == [
        "Peru  wd:Q419",
        "also called Republic of Peru",
        "country in South America",
        "1 fact at version 3",
        "",
        "  capital  Cusco  wd:Q5582862  since version 3 · e3",
        "",
        "Not said any more",
        "  capital  Lima  wd:Q2868  from the base, removed in version 3",
    ]


def test_a_relation_with_several_values_is_named_once(run: Any, tiny: Any) -> None:
    fact = tiny.entities[0].facts[0].model_copy(update={"label": "capital city", "object": "La\nPaz"})
    tiny.entities = [tiny.entities[0].model_copy(update={"facts": [fact, fact], "removed_facts": []})]
    rows = lines(run("entity", "Peru"))[5:]
    assert rows == [
        "  capital city (capital)  La\\u000aPaz  wd:Q5582862  since version 3 · e3",
        "                          La\\u000aPaz  wd:Q5582862  since version 3 · e3",
    ]


def test_a_name_that_one_entity_bears_is_as_good_as_its_id(run: Any) -> None:
    by_name = run("entity", "peru")
    assert (by_name.exit_code, by_name.stdout) == (0, run("entity", "wd:Q419").stdout)


def test_an_id_may_hold_any_character(run: Any, two_perus: Any) -> None:
    assert lines(run("entity", "http://x.org/Paris,", "Texas?"))[0] == "PARIS  http://x.org/Paris, Texas?"


def test_a_name_that_several_bear_lists_them(run: Any, two_perus: Any) -> None:
    result = run("entity", "Paris")
    assert result.exit_code == 1
    assert "http://x.org/Paris, Texas?" in result.stdout
    assert "Say which one is meant: `errata entity ID`." in result.stderr


def test_what_nobody_is_called_is_an_error(run: Any) -> None:
    result = run("entity", "Xyzzy", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["code"] == "not_found"
    assert "error: the graph has no entity Xyzzy [not_found]" in result.stderr
    assert "`errata entities TEXT` the entities there are" in result.stderr


def test_a_version_is_asked_for_in_both_ways(run: Any, tiny: Any) -> None:
    run("entity", "Peru", "--at", "2")
    requests = [(request.url.path, request.query_params.get("version")) for request, _ in tiny.requests]
    assert requests == [("/v1/entities/Peru", "2"), ("/v1/entities", "2"), ("/v1/entities/wd:Q419", "2")]


def test_json_is_what_the_service_sent(run: Any) -> None:
    assert wire.EntityState.model_validate_json(run("entity", "wd:Q419", "--json").stdout).label == "Peru"
    assert wire.EntityList.model_validate_json(run("entities", "P", "--json").stdout).version == 3


def test_the_graph_cannot_steer_the_terminal(run: Any, tiny: Any) -> None:
    tiny.entities[0] = tiny.entities[0].model_copy(update={"label": "Peru\x1b[2J [bold]x[/bold]"})
    for rows in (run("entity", "wd:Q419"), run("entities", "Peru")):
        assert "Peru\\u001b[2J [bold]x[/bold]" in rows.stdout


@pytest.mark.parametrize(
    "words", [("entities", " "), ("entity", ""), ("entity", "x", "--at", "-1"), ("entities",)]
)
def test_wrong_usage_asks_nothing(run: Any, tiny: Any, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2
    assert tiny.requests == []
