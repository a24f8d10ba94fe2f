"""Edited links add, redirect and remove the entities of a form, and a reverted link leaves no trace."""

import pytest
from pydantic import ValidationError

from models.graph.knowledge import Entity, Fact, Mention
from models.memory import FieldsChange, Material, Options
from models.system import Ask, Reply
from models.thu_ernie.linking.memory import LinkFields, LinksMemory, LinksView
from models.thu_ernie.linking.relink import NAMES_NOTHING, RelinkedAsk, relink

KIM = Entity("kim", "Kim", facts=(Fact("birth", "place of birth", "Oslo", "oslo"),))
ADA = Entity("ada", "Ada")
GRAPH = {"kim": KIM, "ada": ADA}.get
ASK = Ask("Where was Kim of York born?", mentions=(Mention(10, 13, (KIM,)),))


def view(*links: tuple[str, str | None]) -> LinksView:
    memory = LinksMemory()
    changes = [
        FieldsChange(f"e{n}", "rows", LinkFields(form=form, entity=entity))
        for n, (form, entity) in enumerate(links)
    ]
    materials = [material for material in memory.build(changes, Options()) if isinstance(material, Material)]
    in_order = [
        Material(
            m.edit, m.method, type(m.block)(m.block.key, n, m.block.header, m.block.body, m.block.sha256)
        )
        for n, m in enumerate(materials)
    ]
    return memory.view(memory.fold(in_order))


def mentions(relinked_ask: RelinkedAsk) -> list[tuple[str, list[str]]]:
    return [
        (relinked_ask.ask.question[m.start : m.end], [entity.id for entity in m.entities])
        for m in relinked_ask.ask.mentions
    ]


def test_without_edits_the_graph_says_what_is_mentioned() -> None:
    assert relink(ASK, LinksView(), GRAPH) == RelinkedAsk(ASK)
    assert relink(ASK, view(("Paris", "ada")), GRAPH) == RelinkedAsk(ASK)


def test_a_form_is_redirected_whatever_its_case() -> None:
    relinked_ask = relink(ASK, view(("kim", "ada")), GRAPH)
    assert mentions(relinked_ask) == [("Kim", ["ada"])]
    assert [edit.edit for edit in relinked_ask.edits] == ["e0"]


def test_a_form_is_added_beside_the_others() -> None:
    assert mentions(relink(ASK, view(("York", "ada")), GRAPH)) == [("Kim", ["kim"]), ("York", ["ada"])]


def test_a_longer_form_takes_the_place_of_what_lies_inside() -> None:
    assert mentions(relink(ASK, view(("Kim of York", "ada")), GRAPH)) == [("Kim of York", ["ada"])]


def test_a_form_inside_a_longer_mention_changes_nothing() -> None:
    ask = Ask(ASK.question, mentions=(Mention(10, 21, (KIM,)),))
    assert relink(ask, view(("York", "ada")), GRAPH) == RelinkedAsk(ask)


def test_a_form_that_names_nothing_is_dropped_with_the_reason() -> None:
    relinked_ask = relink(ASK, view(("Kim", None)), GRAPH)
    assert mentions(relinked_ask) == []
    assert [(r.link.entity, r.reason) for r in relinked_ask.rejections] == [("kim", NAMES_NOTHING)]
    assert relink(ASK, view(("York", None)), GRAPH) == RelinkedAsk(ASK)


def test_of_two_edits_of_a_form_the_later_counts() -> None:
    assert mentions(relink(ASK, view(("Kim", None), ("KIM", "ada")), GRAPH)) == [("Kim", ["ada"])]


def test_an_entity_that_the_graph_lacks_is_mentioned_without_facts() -> None:
    [mention] = relink(ASK, view(("Kim", "nobody")), GRAPH).ask.mentions
    assert mention.entities == (Entity("nobody", "nobody"),)


def test_links_that_are_switched_off_stay_off() -> None:
    ask = Ask(ASK.question, use_graph=False)
    assert relink(ask, view(("Kim", "ada")), GRAPH).ask.mentions == ()


def test_a_reply_names_the_edits_of_its_links() -> None:
    relinked_ask = relink(ASK, view(("Kim", None), ("York", "ada")), GRAPH)
    reply = relinked_ask.attach(Reply("x", 0.5, "x", edits=("e9",), explanation={"dropped": []}))
    assert reply.edits == ("e9", "e0", "e1")
    assert reply.explanation is not None
    assert [drop["reason"] for drop in reply.explanation["dropped"]] == [NAMES_NOTHING]
    assert [edit["entity"] for edit in reply.explanation["link_edits"]] == [None, "ada"]
    assert RelinkedAsk(ASK).attach(reply) is reply


def test_a_link_that_says_nothing_new_is_refused() -> None:
    memory = LinksMemory()
    present = view(("Kim", "ada"))
    refusal = memory.check(LinkFields(form="KIM", entity="ada"), present)
    assert refusal is not None
    assert refusal.code == "no_op"
    assert memory.check(LinkFields(form="Kim", entity="kim"), present) is None
    assert memory.check(LinkFields(form="York"), present) is None


@pytest.mark.parametrize("form", ["", " ", "x" * 400])
def test_a_form_without_a_word_is_refused(form: str) -> None:
    with pytest.raises(ValidationError):
        LinkFields(form=form, entity="ada")
