"""The fold of statements: a text that is the name of an entity among the values is that entity."""

from models.graph.statement import SourceStatements, Statement, fold


def values(*statements: Statement) -> list[tuple[str, str]]:
    relations = fold([SourceStatements(f"e{n}", (statement,)) for n, statement in enumerate(statements)])
    return [(value.object, value.object_id) for value in relations.get("r", {}).values()]


def test_a_text_that_became_an_entity_is_not_added_again_as_a_text() -> None:
    text, entity = Statement("r", "Lima"), Statement("r", "Lima", "Q1")
    assert values(text, entity, text) == [("Lima", "Q1")]
    assert values(text, entity, text, entity) == [("Lima", "Q1")]


def test_a_text_is_the_namesake_that_is_left() -> None:
    first, second = Statement("r", "Lima", "Q1"), Statement("r", "Lima", "Q2")
    removal = Statement("r", "", "Q1", "remove")
    assert values(first, second, removal, Statement("r", "Lima")) == [("Lima", "Q2")]
