"""Which names pass: words of the field, and names of several words."""

import pytest

from tests.shape.names import find_forbidden_names, is_forbidden


@pytest.mark.parametrize("name", ["one", "told", "_made", "THEM", "Locked"])
def test_a_pronoun_and_a_bare_participle_are_forbidden(name):
    assert is_forbidden(name)


@pytest.mark.parametrize("name", ["rows", "sorted_rows", "EditRefused", "cached", "seed", "one_hot"])
def test_nouns_words_of_the_field_and_longer_names_pass(name):
    assert not is_forbidden(name)


def test_each_forbidden_name_is_reported_with_its_line():
    source = "import json as both\n\ndef count(what):\n    self.told = 1\n"
    assert sorted(fault.split(" is ")[0] for fault in find_forbidden_names({"a.py": source})) == [
        "a.py:1: both",
        "a.py:3: what",
        "a.py:4: told",
    ]
