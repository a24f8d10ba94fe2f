"""The mentions of a question after the edits of links: forms that name another entity, or nothing."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from models.graph.knowledge import Entity, Mention
from models.system import Ask, Reply
from models.thu_ernie.answering.explain import describe_rejections
from models.thu_ernie.linking.memory import EditedLink, LinksView
from models.thu_ernie.links import Link, Rejection

NAMES_NOTHING = "an edit says that this form names nothing"
FindEntity = Callable[[str], Entity | None]


@dataclass(frozen=True)
class LinkEdit:
    """An edited form in a question.

    Attributes:
        edit: The edit.
        begin: First character of the form.
        end: Character behind it.
        entity: Entity that it names; None for no entity.
    """

    edit: str
    begin: int
    end: int
    entity: str | None


@dataclass(frozen=True)
class RelinkedAsk:
    """A question with the mentions that edits leave.

    Attributes:
        ask: The question.
        rejections: Mentions that edits took away.
        edits: The edits of forms in the question.
    """

    ask: Ask
    rejections: tuple[Rejection, ...] = ()
    edits: tuple[LinkEdit, ...] = ()

    def attach(self, reply: Reply) -> Reply:
        """Return a reply that names the edits of its links, with their effect in the explanation."""
        if not self.edits:
            return reply
        edits = tuple(dict.fromkeys([*reply.edits, *(edit.edit for edit in self.edits)]))
        if reply.explanation is None:
            return replace(reply, edits=edits)
        explanation = {
            **reply.explanation,
            "dropped": [*reply.explanation["dropped"], *describe_rejections(self.rejections)],
            "link_edits": [asdict(edit) for edit in self.edits],
        }
        return replace(reply, edits=edits, explanation=explanation)


def relink(ask: Ask, view: LinksView, find: FindEntity) -> RelinkedAsk:
    """Apply the edited links to a question.

    A form that lies inside a longer mention of the graph leaves it alone, and one that contains mentions replaces them.

    Args:
        ask: The question with the mentions of the graph.
        view: The edited links.
        find: Returns an entity of the graph at this version; None if there is none.
    """
    if not view.links or not ask.use_graph:
        return RelinkedAsk(ask)
    by_edit = {link.edit: link for link in view.links.values()}
    places, _ = view.lexicon.link(ask.question)
    result = RelinkedAsk(ask)
    for place in places:
        if not any(_contains(mention, place) for mention in result.ask.mentions):
            result = _apply(result, place, by_edit[place.entity], find)
    return result


def _contains(mention: Mention, place: Link) -> bool:
    """Return whether a mention is longer than a form and holds it."""
    is_longer = mention.end - mention.start > place.end - place.begin
    return is_longer and mention.start <= place.begin and place.end <= mention.end


def _apply(relinked_ask: RelinkedAsk, place: Link, link: EditedLink, find: FindEntity) -> RelinkedAsk:
    beside = [m for m in relinked_ask.ask.mentions if m.end <= place.begin or place.end <= m.start]
    inside = [m for m in relinked_ask.ask.mentions if m not in beside]
    if link.entity is None:
        exact = [m for m in inside if (m.start, m.end) == (place.begin, place.end)]
        mentions = [m for m in relinked_ask.ask.mentions if m not in exact]
        rejections = [
            Rejection(Link(entity.id, m.start, m.end, 1.0), NAMES_NOTHING)
            for m in exact
            for entity in m.entities
        ]
        if not exact:
            return relinked_ask
    else:
        entity = find(link.entity) or Entity(link.entity, link.entity)
        mentions = sorted([*beside, Mention(place.begin, place.end, (entity,))], key=lambda m: m.start)
        rejections = []
    return replace(
        relinked_ask,
        ask=replace(relinked_ask.ask, mentions=tuple(mentions)),
        rejections=(*relinked_ask.rejections, *rejections),
        edits=(*relinked_ask.edits, LinkEdit(link.edit, place.begin, place.end, link.entity)),
    )
