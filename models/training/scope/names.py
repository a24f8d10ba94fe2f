"""Names of subjects for training: real names that no test has, invented names, and names that look alike."""

import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from models.packs.pack import Pack
from models.training.packs.names import Half, read_names
from models.training.scope.relations import FILE

ANY = "thing"
MIN_NAMES = 8  # smallest number of names of a type; with fewer, names of all types are drawn
NEW_NAME, OTHER_TYPE = 0.15, 0.1  # shares of the names


class Names:
    """Names of one half of names.tsv; the training half also has the pack's entities and names of relations.toml."""

    def __init__(self, pack: Pack, half: Half, forms: Mapping[str, Sequence[str]]) -> None:
        self._forms = forms
        names: dict[str, set[str]] = defaultdict(set)
        for name in read_names(half):
            names[pack.relations[name.relation_id].subject_type].add(name.name)
        test_names = set[str]()
        if half == "train":
            test_names |= {name.name for name in read_names("test")}
            for entity in pack.entities.values():
                names[entity.type].add(entity.label)
            for type, type_names in tomllib.loads(FILE.read_text("utf-8"))["names"].items():
                names[type] |= set(type_names)
        by_type = {type: sorted(group - test_names) for type, group in names.items()}
        self._all = sorted({name for group in by_type.values() for name in group})
        self.by_type = {type: group for type, group in by_type.items() if len(group) >= MIN_NAMES}

    def draw(self, type: str, rng: random.Random) -> str:
        """Draw a name, most often of an entity of this type."""
        share = rng.random()
        if share < NEW_NAME:
            return self._invent(rng)
        return rng.choice(self._all if share < NEW_NAME + OTHER_TYPE else self.by_type.get(type, self._all))

    def other(self, name: str, type: str, rng: random.Random) -> str:
        """Draw a name that differs from this one in more than spelling."""
        while (other := self.draw(type, rng)).casefold() == name.casefold():
            pass
        return other

    def alike(self, name: str, type: str, rng: random.Random) -> str:
        """Make a name that looks like this one: longer, shorter, with another word, digit or syllable."""
        while (alike := self._change(name, type, rng)).casefold() == name.casefold():
            pass
        return alike

    def _change(self, name: str, type: str, rng: random.Random) -> str:
        words, other = name.split(), rng.choice(self.by_type.get(type, self._all))
        changes = [f"{name} {rng.choice(self._forms['additions'])}", other]
        changes.append(" ".join([*words[:-1], other.split()[-1]]))
        if len(words) > 1:
            changes += [" ".join(words[:-1]), " ".join([other.split()[0], *words[1:]])]
        if digit := re.search(r"\d", name):
            new = str((int(digit[0]) + rng.randint(1, 8)) % 10)
            changes += [name[: digit.start()] + new + name[digit.end() :]] * 2
        place = rng.randrange(len(name))
        changes.append(name[:place] + rng.choice(self._forms["syllables"]) + name[place + 2 :])
        return rng.choice(changes)

    def _invent(self, rng: random.Random) -> str:
        def word(shortest: int, longest: int) -> str:
            return "".join(
                rng.choices(self._forms["syllables"], k=rng.randint(shortest, longest))
            ).capitalize()

        return word(2, 4) if rng.random() < 0.7 else f"{word(2, 4)} {word(2, 3)}"
