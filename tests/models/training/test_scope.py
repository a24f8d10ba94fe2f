"""What the scope may learn from: the facts and forms that it is allowed, and no other."""

from models.packs.pack import Pack
from models.training.lines import lines
from models.training.scope import gather


def test_only_allowed_facts_in_allowed_forms_are_gathered() -> None:
    pack = Pack.load()
    items, every = list(pack.items()), lines(pack)
    facts = gather(items, every, {0, 1, 7}, {"trained"})
    assert set(facts.rows) == set(facts.subject) == set(facts.relation) == {0, 1, 7}
    told = {(every[row].item, every[row].form) for rows in facts.rows.values() for row in rows}
    assert told == {(0, "trained"), (1, "trained"), (7, "trained")}
    assert sorted(index for some in facts.siblings.values() for index in some) == [0, 1, 7]
