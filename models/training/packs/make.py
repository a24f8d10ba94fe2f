"""From raw facts to a pack: the one place where the order of the steps is written down."""

from collections.abc import Iterable
from dataclasses import replace

from models.packs.pack import Pack, Relation
from models.training.packs.assembly import assemble
from models.training.packs.cleaning import canonical, is_askable, template_words, without_homonyms
from models.training.packs.naming import about_its_names, settle
from models.training.packs.probe import probes
from models.training.packs.raw import RawFact
from models.training.packs.selection import candidates, select
from models.training.packs.strangers import strangers


def make(raw: Iterable[RawFact], relations: dict[str, Relation]) -> Pack:
    spoken = template_words(relations)
    facts = without_homonyms((f for f in map(canonical, raw) if is_askable(f, spoken)), relations)
    names = settle(facts, relations)
    clear = [fact for fact in facts if about_its_names(fact, names, relations)]
    pack = assemble(select(candidates(clear, relations)), names, relations)
    held = [name for entity in pack.entities.values() for name in entity.names]
    held += [fact.object for fact in pack.facts]
    found = strangers(facts, held, spoken)
    return replace(pack, strangers=tuple(found), probes=tuple(probes(pack.items())))
