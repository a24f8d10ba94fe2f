"""The texts of each fact with their answers, and the facts that are held back for the bank.

Salient span masking (Guu et al., REALM, arXiv:2002.08909; used for injection by Dai et al., arXiv:2208.00399): a
statement of the fact with its object masked. A question is the same fact with the object left out.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.packs.pack import Item, Pack, Relation
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import Plan
from models.training.texts.phrasings import CHOOSE_HANDS, TEST_HANDS, reword
from models.training.texts.typing import retype

MASK = "[MASK]"  # the encoder's token for a masked span
STRANGER = {"tune": "stranger-tune", "test": "stranger-test"}  # form of the line, by split


@dataclass(frozen=True)
class Line:
    """One text and the answer it asks for.

    Its form is `trained`; `tuning` or `held`, phrasings never trained on, of the writers for choices and of those for
    tests; `masked`, a statement; or that of a question about a stranger, whose item is -1.
    """

    text: str
    answer: str
    item: int
    form: str


@dataclass(frozen=True)
class Split:
    """Indices of facts."""

    base: tuple[int, ...]  # facts that the backbone learns
    replayed_items: tuple[int, ...]  # base facts that injection repeats; its damage is measured on the rest
    injected_items: tuple[int, ...]  # facts that are held back, then written into the bank alone


@dataclass(frozen=True)
class Texts:
    """The lines of a pack, and the rows of each form and fact; held phrasings of the items are those for tests."""

    files: DataFiles
    relations: dict[str, Relation]
    items: list[Item]
    split: Split
    lines: list[Line]
    rows: dict[str, dict[int, list[int]]]

    @staticmethod
    def read(plan: Plan, folder: Path) -> "Texts":
        """Write the lines of the pack in a folder."""
        with DataFiles(folder) as files:
            pack = Pack.load(folder)
            tuning, test = reword(pack, CHOOSE_HANDS), reword(pack, TEST_HANDS)
        lines = write_lines(tuning, test, plan.wordings, plan.seed)
        lines += [*_strangers(tuning, "tune"), *_strangers(test, "test")]
        rows: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row, line in enumerate(lines):
            rows[line.form][line.item].append(row)
        split = split_items(pack, plan.n_injected, plan.n_unreplayed, plan.seed)
        by_form = {form: dict(part) for form, part in rows.items()}
        return Texts(files, test.relations, list(test.items()), split, lines, by_form)

    def seen_in_training(self, item: int) -> list[int]:
        """Return the rows of a fact that training may read: trained phrasings and masked statements."""
        return self.rows["trained"][item] + self.rows["masked"][item]

    def pick_rows(self, form: str, items: Sequence[int]) -> list[int]:
        """Draw one row of a form for each of the items."""
        rng = random.Random(3)
        return [rng.choice(self.rows[form][item]) for item in items]

    def group_rows(self) -> dict[str, list[int]]:
        """Return the rows of each group of facts and phrasings, and of the questions about strangers."""
        split = self.split
        base = {form: self.pick_rows(form, split.base) for form in ("trained", "tuning", "held")}
        groups = {f"base_{form}": rows for form, rows in base.items()}
        for form in base:
            groups[f"injected_{form}"] = self.pick_rows(form, split.injected_items)
        exclusive_items = set(split.base) - set(split.replayed_items)
        for form in ("trained", "held"):
            groups[f"unreplayed_{form}"] = [
                row for row in base[form] if self.lines[row].item in exclusive_items
            ]
        groups["strangers_tuning"] = self.rows[STRANGER["tune"]][-1]
        return groups | {"strangers": self.rows[STRANGER["test"]][-1]}

    def rows_by_subject(self) -> list[list[int]]:
        """Return the rows of each subject's trained phrasings."""
        grouped_rows: dict[str, list[int]] = defaultdict(list)
        for index, item in enumerate(self.items):
            grouped_rows[item.subject.id] += self.rows["trained"][index]
        return list(grouped_rows.values())


def split_items(pack: Pack, n_injected: int, n_unreplayed: int, seed: int) -> Split:
    """Draw the facts to hold back, evenly over the relations' sizes."""
    order = list(range(len(list(pack.items()))))
    random.Random(seed).shuffle(order)
    held_back, base = order[:n_injected], order[n_injected:]
    return Split(tuple(sorted(base)), tuple(sorted(base[n_unreplayed:])), tuple(sorted(held_back)))


def write_lines(tuning: Pack, test: Pack, recipe: Plan, seed: int) -> list[Line]:
    """Write the lines of every fact, in the pack's order; the packs differ in their held phrasings."""
    rng = random.Random(f"{seed}/wordings")
    pairs = enumerate(zip(tuning.items(), test.items(), strict=True))
    return [line for index, (item, test_item) in pairs for line in _of(index, item, test_item, recipe, rng)]


def _of(index: int, item: Item, test_item: Item, recipe: Plan, rng: random.Random) -> Iterator[Line]:
    subject, relation = item.subject.label, item.relation
    canonical, *rest = relation.phrasings
    texts = rng.sample(rest, min(len(rest), recipe.n_trained - 1))
    forms = (
        ("trained", [canonical, *(retype(text, recipe.slip, recipe.bare, rng) for text in texts)]),
        ("tuning", [rng.choice(relation.held_out)]),
        ("held", [rng.choice(test_item.relation.held_out)]),
    )
    for form, templates in forms:
        for template in templates:
            yield Line(template.replace("{subject}", subject), item.answer, index, form)
    for template in relation.statements:
        yield Line(
            template.replace("{subject}", subject).replace("{object}", MASK), item.answer, index, "masked"
        )


def _strangers(pack: Pack, split: str) -> list[Line]:
    """Write questions about names that the pack lacks, canonical and in a held phrasing; no answer is right."""
    return [
        Line(template.replace("{subject}", stranger.subject), "", -1, STRANGER[stranger.split])
        for stranger in pack.strangers
        if stranger.split == split
        for template in (
            pack.relations[stranger.relation_id].phrasings[0],
            pack.relations[stranger.relation_id].held_out[0],
        )
    ]
