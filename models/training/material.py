"""The material that the phases share: the pack's lines, their states and answers, and the split of both."""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from models.encoder.minilm import MiniLM
from models.nkb.reader import END
from models.packs.pack import Item, Pack, Relation
from models.training import tokens
from models.training.base import Corpus
from models.training.lines import Line, Split, lines, split
from models.training.phrasings import CHOOSE_HANDS, TEST_HANDS, reword
from models.training.plan import Plan
from models.training.states import load_or_encode

STRANGER = {"tune": "stranger-tune", "test": "stranger-test"}  # form of the line, by split


@dataclass(frozen=True)
class Material:
    """Lines, states and answers; `rows[form][item]` are rows of the corpus, `relation_of_row` is for tables."""

    items: list[Item]
    split: Split
    corpus: Corpus
    tokenizer: Tokenizer
    rows: dict[str, dict[int, list[int]]]
    relation_of_row: list[str]
    relations: dict[str, Relation]

    def seen_in_training(self, item: int) -> list[int]:
        """Return the rows of a fact that training may read: trained phrasings and masked statements."""
        return self.rows["trained"][item] + self.rows["masked"][item]

    def one_each(self, form: str, items: list[int] | tuple[int, ...], seed: int) -> list[int]:
        """Draw one row of this form for each of the items."""
        rng = random.Random(seed)
        return [rng.choice(self.rows[form][item]) for item in items]

    def rows_by_subject(self) -> list[list[int]]:
        """Return the rows of each subject's trained phrasings."""
        grouped_rows: dict[str, list[int]] = defaultdict(list)
        for index, item in enumerate(self.items):
            grouped_rows[item.subject.id] += self.rows["trained"][index]
        return list(grouped_rows.values())


def prepare(plan: Plan, pack: Pack, folder: Path, say: Callable[[str], None]) -> Material:
    """Read the pack, learn the tokenizer, and encode every text (or find it encoded in `folder`)."""
    folder.mkdir(parents=True, exist_ok=True)
    tuning, test = reword(pack, CHOOSE_HANDS), reword(pack, TEST_HANDS)
    items = list(test.items())
    tokenizer = tokens.train((item.answer for item in items), plan.vocab)
    every = [
        *lines(tuning, test, plan.wordings, plan.seed),
        *_strangers(tuning, "tune"),
        *_strangers(test, "test"),
    ]
    states = load_or_encode(folder, [line.text for line in every], MiniLM(), say)
    answers = {a: [*tokenizer.encode(a).ids, END] for a in {line.answer for line in every}}
    rows: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, line in enumerate(every):
        rows[line.form][line.item].append(row)
    return Material(
        items,
        split(pack, plan.n_injected, plan.n_unreplayed, plan.seed),
        Corpus(every, states, [answers[line.answer] for line in every]),
        tokenizer,
        {form: dict(by_item) for form, by_item in rows.items()},
        [items[line.item].relation.id if line.item >= 0 else "stranger" for line in every],
        test.relations,
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
