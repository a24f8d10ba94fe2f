"""An entity is the fold of its statements, in order; nothing is overwritten, so every statement can be taken back."""

from __future__ import annotations

import pytest

from models.graph.knowledge import Entity
from models.graph.statement import (
    ALIAS,
    DESCRIPTION,
    HOLDS,
    LABEL,
    SourceStatements,
    Statement,
    fold,
    fold_entity,
)


def values_of(*statements: Statement) -> dict[str, list[str]]:
    statements = fold([SourceStatements("e", statements)])
    return {relation: [value.object for value in values.values()] for relation, values in statements.items()}


def peru(*sources: SourceStatements) -> Entity | None:
    return fold_entity("Q419", sources, str.upper, {"Q2868": "City of Kings"})


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("a+ b+", "a b"),
        ("a+ b+ a+", "a b"),
        ("a+ b=", "b"),
        ("a+ b= c+", "b c"),
        ("a+ b+ a-", "b"),
        ("a+ a- a+", "a"),
        ("a+ b+ a- a+", "b a"),
        ("a?", "a"),
        ("a+ b?", "a"),
        ("a+ a- b?", "b"),
        ("a? b?", "a"),
        ("a? b+", "a b"),
        ("a+ A-", "a"),
        ("a-", ""),
        ("a+ a-", ""),
        ("a- a-", ""),
    ],
)
def test_values_are_told_in_order_and_a_relation_without_values_is_none(
    statements: str, expected: str
) -> None:
    acts = {"+": "add", "=": "set", "-": "remove", "?": "default"}
    values = values_of(*(Statement("r", text[0], "", acts[text[1]]) for text in statements.split()))  # type: ignore[arg-type]
    assert values == ({"r": expected.split()} if expected else {})


def test_to_remove_nothing_in_particular_removes_all_and_of_one_relation_only() -> None:
    statements = (
        Statement("r", "a"),
        Statement("r", "b"),
        Statement("s", "a"),
        Statement("r", "", "", "remove"),
    )
    assert values_of(*statements) == {"s": ["a"]}


def test_an_entity_that_is_called_otherwise_now_is_removed_under_its_new_name() -> None:
    """A curator who removes it has seen the new name."""
    statements = (Statement("r", "Lima", "Q2868"), Statement("r", "City of Kings", "Q2868", "remove"))
    assert values_of(*statements) == {}


def test_the_last_who_says_a_value_answers_for_it() -> None:
    sources = [SourceStatements("", (Statement("r", "a"),)), SourceStatements("e1", (Statement("r", "a"),))]
    assert list(fold(sources)["r"].values()) == [("a", "", "e1")]


def test_an_entity_has_its_newest_label_and_description_and_all_aliases_but_the_label() -> None:
    folded_entity = peru(
        SourceStatements(
            "", (Statement(LABEL, "Peru"), Statement(ALIAS, "Birú"), Statement(DESCRIPTION, "old"))
        ),
        SourceStatements(
            "e1", (Statement(LABEL, "Birú", "", "set"), Statement(DESCRIPTION, "new", "", "set"))
        ),
        SourceStatements("e2", (Statement(ALIAS, "Perú"), Statement(HOLDS, "one"))),
    )
    assert folded_entity == Entity("Q419", "Birú", ("Perú",), "new", ())
    assert folded_entity.names == ("Birú", "Perú")


def test_an_object_is_called_as_it_is_called_now_and_a_relation_as_people_do() -> None:
    folded_entity = peru(
        SourceStatements("", (Statement("capital", "Lima", "Q2868"), Statement("motto", "Lima")))
    )
    assert folded_entity is not None
    assert [(fact.label, fact.object) for fact in folded_entity.facts] == [
        ("CAPITAL", "City of Kings"),
        ("MOTTO", "Lima"),
    ]


def test_an_entity_of_which_nothing_is_left_is_none_and_one_without_a_label_has_its_id() -> None:
    assert peru() is None
    assert (
        peru(
            SourceStatements("", (Statement(LABEL, "Peru"),)),
            SourceStatements("e", (Statement(LABEL, "Peru", "", "remove"),)),
        )
        is None
    )
    nameless = peru(SourceStatements("", (Statement("r", "a"),)))
    assert nameless is not None
    assert (nameless.label, nameless.degree) == ("Q419", 1)


def test_an_entity_may_speak_of_itself() -> None:
    folded_entity = fold_entity(
        "Q2868", [SourceStatements("", (Statement("r", "Lima", "Q2868"),))], str, {"Q2868": "City of Kings"}
    )
    assert folded_entity is not None
    assert folded_entity.facts[0].object == "City of Kings"
