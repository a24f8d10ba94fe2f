"""Families have several relations of one subject, each with wordings of its own."""

from pathlib import Path

import pytest

from models.training.scope.crowds.families import MAX_WORDINGS, expand, read_families
from models.training.scope.relations import SUBJECT


def test_alternatives_are_written_out() -> None:
    assert expand("[the] (opening|closing) hour of {s}?") == [
        "opening hour of {s}?",
        "closing hour of {s}?",
        "the opening hour of {s}?",
        "the closing hour of {s}?",
    ]


def test_each_relation_has_wordings_that_no_other_of_its_family_has() -> None:
    families = read_families(5)
    assert len(families.groups) > 15
    for _, ids in families.groups:
        wordings = [wording for id in ids for wording in families.relations[id].phrasings]
        assert len(ids) > 1
        assert len(set(wordings)) == len(wordings)
        assert all(wording.count(SUBJECT) == 1 for wording in wordings)


def test_a_template_with_many_wordings_gives_some_of_them(tmp_path: Path) -> None:
    path = tmp_path / "families.txt"
    options = "|".join(map(str, range(MAX_WORDINGS + 5)))
    path.write_text(f"# head\n= shop bank\n* hour (time)\n({options}) {{s}}\n* price (money)\n{{s}} costs\n")
    families = read_families(1, path)
    hour, price = families.relations.values()
    assert families.groups == ((("shop", "bank"), (hour.id, price.id)),)
    assert (hour.label, hour.subject, hour.object) == ("hour", "shop", "time")
    assert len(hour.phrasings) == MAX_WORDINGS
    assert price.phrasings == (f"{SUBJECT} costs",)


def test_a_relation_without_an_answer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "families.txt"
    path.write_text("\n= shop\n* hour\n{s} hour\n")
    with pytest.raises(ValueError, match="type of the answer"):
        read_families(1, path)
