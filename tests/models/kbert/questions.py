"""Questions about entities that only tests have, linked by hand."""

from models.graph.knowledge import Entity, Fact, Mention
from models.system import Ask

KIM = Entity(
    "p:kim",
    "Kim Lee",
    facts=(
        Fact("place_of_birth", "place of birth", "Oslo"),
        Fact("occupation", "occupation", "painter"),
        Fact("spouse", "spouse", "Ada Berg", "p:ada"),
    ),
)


def linked_ask(question: str, name: str, *entities: Entity, **options: object) -> Ask:
    """Return a question whose first place of `name` may mean each of the entities."""
    start = question.index(name)
    return Ask(question, mentions=(Mention(start, start + len(name), entities),), **options)  # type: ignore[arg-type]


def entity_with(*triples: tuple[str, str, str], id: str = "e:1", label: str = "Kim Lee") -> Entity:
    """Return an entity with (relation, label, object) facts."""
    return Entity(id, label, facts=tuple(Fact(*triple) for triple in triples))
