"""The entity that a label names: in a pack, exactly one.

The sources use one label for several things. Among Wikidata ids that share a label, the id with most facts stays. A
label that only EntityQuestions has carries no id; it stays if all its facts can be about one thing, as far as the
types of the relations tell. Facts about another thing of that name are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.packs.pack import Relation
from models.training.packs.sources import RawFact, Source

LITERALS = {"text", "number"}
ANY_TYPE = "any"

MIN_SHARE_DIVISOR = 10  # a tenth of the mentions is the least share that counts

# (wide, narrow): a text may speak of a thing of the narrow type as one of the wide type
NARROWER = {("place", "country"), ("agent", "person"), ("agent", "organization"), ("work", "product")}


@dataclass(frozen=True, slots=True)
class Mention:
    """One use of a label by one fact."""

    label: str
    type: str
    source: Source
    id: str
    is_subject: bool


@dataclass(frozen=True, slots=True)
class Name:
    """The settled meaning of a label. `id` is empty where no source gives one."""

    label: str
    type: str
    id: str

    def fits(self, mention: Mention) -> bool:
        # There is a Boston in Ireland, and a Paris in Texas.
        may_be_another_place = mention.type == "place" and mention.is_subject and not mention.id and self.id
        if unify(self.type, mention.type) != self.type or may_be_another_place:
            return False
        both_known = is_wikidata(self.id) and is_wikidata(mention.id)
        return not both_known or mention.id == self.id


def is_wikidata(id: str) -> bool:
    return id.startswith("Q")


def key(label: str) -> str:
    return label.casefold()


def unify(first: str, second: str) -> str | None:
    """Return the narrower of two types that one thing can have; None if it cannot have both."""
    if first == second or second == ANY_TYPE:
        return first
    if first == ANY_TYPE:
        return second
    if (first, second) in NARROWER:
        return second
    return first if (second, first) in NARROWER else None


def mentions(fact: RawFact, relations: Mapping[str, Relation]) -> tuple[Mention, Mention]:
    """Return the mentions of subject and object."""
    relation = relations[fact.relation]
    return (
        Mention(fact.subject, relation.subject_type, fact.source, fact.subject_id, True),
        Mention(fact.object, relation.object_type, fact.source, fact.object_id, False),
    )


def settle(facts: Iterable[RawFact], relations: Mapping[str, Relation]) -> dict[str, Name]:
    """Settle the meaning of each case-folded label; labels that cannot be settled are left out."""
    uses: dict[str, list[Mention]] = defaultdict(list)
    for fact in facts:
        for mention in mentions(fact, relations):
            if mention.type not in LITERALS:
                uses[key(mention.label)].append(mention)
    names = {label: _settle(label_uses) for label, label_uses in uses.items()}
    return {label: name for label, name in names.items() if name is not None}


def about_its_names(fact: RawFact, names: Mapping[str, Name], relations: Mapping[str, Relation]) -> bool:
    """Return whether both ends of a fact are the settled meanings of their labels."""
    for mention in mentions(fact, relations):
        if mention.type in LITERALS:
            continue
        name = names.get(key(mention.label))
        if name is None or not name.fits(mention):
            return False
    return True


def _settle(uses: list[Mention]) -> Name | None:
    source = min(mention.source for mention in uses)
    best_uses = [mention for mention in uses if mention.source == source]
    counts = Counter(mention.label for mention in best_uses)
    label = min(counts, key=lambda label: (-counts[label], label))
    if source == Source.ENTITYQUESTIONS:
        kind = _common_type(best_uses, strict=True)
        return Name(label, kind, "") if kind else None
    if source == Source.REFERENCE:
        kind = _common_type(best_uses, strict=False)
        exact = [mention for mention in uses if mention.type == kind]
        usable = [mention for mention in uses if unify(kind, mention.type)]
        own_id = max(mention.id for mention in best_uses)
        return Name(label, kind, _best_id(exact) or _best_id(usable) or own_id)
    id = _best_id(best_uses)
    return Name(label, _common_type([m for m in best_uses if m.id == id], strict=False), id)


def _best_id(uses: list[Mention]) -> str:
    """Return the id with most uses; among equals the lowest number, which usually is the best known."""
    counts = Counter(mention.id for mention in uses if is_wikidata(mention.id))
    return min(counts, key=lambda id: (-counts[id], int(id[1:])), default="")


def _common_type(uses: list[Mention], strict: bool) -> str:
    """Return the type that most mentions agree on, or, if strict, that all agree on; '' without one.

    A few mentions do not narrow the type of many: Frankfurt is no country though one film is from there.
    """
    kind = ANY_TYPE
    for candidate, count in sorted(
        Counter(m.type for m in uses).items(), key=lambda pair: (-pair[1], pair[0])
    ):
        narrower = unify(kind, candidate)
        if narrower is None and strict:
            return ""
        if strict or count * MIN_SHARE_DIVISOR > len(uses):
            kind = narrower or kind
    return kind
