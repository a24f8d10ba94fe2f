"""`errata entities` and `errata entity`: the content of the graph, by name or by id, now or at a version."""

from __future__ import annotations

from typing import Any

import pytest


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


def test_an_entity_is_shown_with_since_when_each_fact_holds_and_what_was_removed(run: Any) -> None:
    assert lines(run("entity", "wd:Q419")) == [
        "Peru  wd:Q419",
        "also called Republic of Peru",
        "country in South America",
        "1 fact at version 3",
        "",
        "  capital  Cusco  wd:Q5582862  since version 3 · e3",
        "",
        "Said before",
        "  capital  Lima  wd:Q2868  from the base, removed in version 3",
    ]


def test_facts_that_are_not_shown_are_counted(run: Any, tiny: Any) -> None:
    counts = {"degree": 1_500, "facts_left_out": 1_499, "removed_facts_left_out": 7}
    tiny.entities[0] = tiny.entities[0].model_copy(update=counts)
    result = lines(run("entity", "wd:Q419"))
    assert "1,500 facts at version 3, of which 1,499 are not shown" in result
    assert "Said before, of which 7 are not shown" in result


def test_a_name_that_several_bear_lists_them(run: Any, two_perus: Any) -> None:
    result = run("entity", "Paris")
    assert result.exit_code == 1
    assert "http://x.org/Paris, Texas?" in result.stdout
    assert "Say which one is meant: `errata entity ID`." in result.stderr


def test_a_name_without_its_accents_opens_the_thing_that_bears_it(run: Any, tiny: Any) -> None:
    for id, label in (("v", "Île Verdane"), ("w", "Île Verdane Bridge")):
        tiny.entities.append(tiny.entities[0].model_copy(update={"id": id, "label": label, "aliases": []}))
    assert lines(run("entity", "Ile Verdane"))[0] == "Île Verdane  v"
    assert "Say which one is meant" in run("entity", "Ile Ver").stderr


def test_the_graph_cannot_steer_the_terminal(run: Any, tiny: Any) -> None:
    tiny.entities[0] = tiny.entities[0].model_copy(update={"label": "Peru\x1b[2J [bold]x[/bold]"})
    for rows in (run("entity", "wd:Q419"), run("entities", "Peru")):
        assert "Peru\\u001b[2J [bold]x[/bold]" in rows.stdout
