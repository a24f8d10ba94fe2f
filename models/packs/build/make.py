"""From raw facts to a pack: the one place where the order of the steps is written down."""

from collections.abc import Iterable
from dataclasses import replace

from models.packs.build.assembly import assemble
from models.packs.build.cleaning import canonical, is_askable, template_words, without_homonyms
from models.packs.build.naming import about_its_names, settle
from models.packs.build.probe import probes
from models.packs.build.raw import RawFact
from models.packs.build.selection import candidates, select
from models.packs.build.strangers import strangers
from models.packs.pack import Pack, Relation


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
