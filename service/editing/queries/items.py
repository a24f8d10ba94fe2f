"""Every active edit in the form in which it can be sent again, so that a file of them makes the same state.

Edits come in the ledger's order. The answers that a fact changed are made again by the fact; the triples of an import
become facts of the graph alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from errata.wire import ActiveEdit, ActiveEditList

from models.graph.blocks import read_manifest
from models.graph.statement import ALIAS, DESCRIPTION, DETAILS, LABEL, Statement
from models.graph.view import GraphView
from models.memory import Memory
from service.editing.draft import EditorState
from service.editing.evaluation.lineage import version_of
from service.editing.notes import ChangeNote, FactNote, ImportNote, RelationNote, read_note
from service.editing.planned_edit import TO_REPLACE
from service.editing.plans.contradicted_answers import QUESTION
from service.editing.state_builder import MaterialStore
from service.errors import TooLarge
from service.graph.lookup import Lookup
from service.ledger.commit import EditRecord

MAX_ITEMS = 50_000
Item = dict[str, Any]
NAMES: Mapping[str, str] = {LABEL: "label", ALIAS: "alias", DESCRIPTION: "description"}
NO_ITEM = "{count:,} changes of {memory} are left out: a backup (errata backup) has them"


@dataclass
class Items:
    state: EditorState
    memories: Mapping[str, Memory]  # the memories, whose usual methods need no mention
    materials: MaterialStore
    lookup: Lookup | None
    view: GraphView | None  # the graph; None where no system reads it
    # What an entity is called in the items, by its id and its text
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    # The values of each relation of each subject after the items so far; False for a removed one
    values: dict[tuple[str, str], set[tuple[str | bool, ...]]] = field(default_factory=dict)

    async def collect(self) -> ActiveEditList:
        edits: list[ActiveEdit] = []
        counts: Counter[str] = Counter()
        for version, group in groupby(self.state.edits.values(), version_of):
            records = list(group)
            active = [record for record in records if record.id in self.state.active]
            counts.update(record.memory for record in active if isinstance(read_note(record), ChangeNote))
            if active:
                async for record, item in self._of_commit(records, active):
                    method = self._unusual_method(record) if "question" in item else ""
                    edits.append(ActiveEdit(id=record.id, version=version, method=method, edit=item))
            if len(edits) > MAX_ITEMS:
                raise TooLarge(
                    f"there are more than {MAX_ITEMS:,} edits and facts: make a backup (errata backup)",
                    limit=MAX_ITEMS,
                )
        sentences = [NO_ITEM.format(count=count, memory=memory) for memory, count in counts.items()]
        return ActiveEditList(version=self.state.version, edits=edits, left_out=sentences)

    async def _of_commit(
        self, records: Sequence[EditRecord], active: Sequence[EditRecord]
    ) -> AsyncIterator[tuple[EditRecord, Item]]:
        """Yield the items of one commit, of which some edits may have been taken back."""
        answers: dict[str, list[EditRecord]] = defaultdict(list)
        for record in records:
            if read_note(record) is None:
                answers[record.question].append(record)
        active_ids = {record.id for record in active}
        questions = {self._question_of(record) for record in active if record.triple is not None}
        for record in active:
            note = read_note(record)
            if isinstance(note, RelationNote):
                fields = {"define": note.define, "holds": note.holds, "label": note.label}
                yield record, {name: value for name, value in fields.items() if value is not None}
            elif isinstance(note, FactNote):
                consequences = answers[self._question_of(record)]
                has_all = all(answer.id in active_ids for answer in consequences)
                item = await self._fact(record, note, note.only if has_all else "graph")
                self._notes_news(item)
                yield record, item
            elif isinstance(note, ImportNote):
                async for item in self._triples(record):
                    if self._notes_news(item):
                        yield record, item
            elif note is None and record.question not in questions:
                yield record, self._correction(record)

    def _notes_news(self, item: Item) -> bool:
        """Note a fact, and return whether it says more than those before it about the same."""
        values = self.values.setdefault((item["subject"], item["relation"]), set())
        details = tuple(item.get(name, "") for name in DETAILS)
        value = item["object"], *details, item["act"] != "remove"
        is_news = value not in values or (item["act"] == "set" and len(values) > 1)
        if item["act"] != "add":
            values.clear()
        values.add(value)
        return is_news

    def _question_of(self, record: EditRecord) -> str:
        if record.question or record.triple is None or self.view is None:
            return record.question
        return QUESTION.format(self.view.label(record.triple.relation), record.notes.get("subject", ""))

    async def _fact(self, record: EditRecord, note: FactNote, only: str | None) -> Item:
        assert record.triple is not None, "a fact has a triple"
        unit = f" {note.qualifiers['unit']}" if note.qualifiers and "unit" in note.qualifiers else ""
        return {
            "subject": await self._name(record.triple.subject, note.subject),
            "relation": note.relation,
            "object": await self._name(note.object_id or "", note.object.removesuffix(unit)),
            "act": note.act,
            **(note.qualifiers or {}),
            **({"only": only} if only else {}),
        }

    async def _name(self, id: str, text: str) -> str:
        """Return the name of an entity, or its id where the base has it and the name is not its own."""
        if self.lookup is None or self.view is None or id not in self.view.base.statements:
            return text
        if (id, text) not in self.names:
            owners = await self.lookup.entities_named(text, self.view)
            self.names[id, text] = text if [owner.id for owner in owners] == [id] else id
        return self.names[id, text]

    async def _triples(self, record: EditRecord) -> AsyncIterator[Item]:
        assert self.lookup is not None, "an import is of the graph"
        assert self.view is not None, "an import is of the graph"
        manifest = read_manifest(self.materials.of([record])[0].block)
        if manifest.triples > MAX_ITEMS:
            raise TooLarge(
                f"an import has {manifest.triples:,} triples, and {MAX_ITEMS:,} fit: make a backup (errata backup)",
                limit=MAX_ITEMS,
            )
        ids = sorted(await self.lookup.list_ids(manifest))
        entities = await self.lookup.entities(ids, self.view)
        for id in ids:
            entity = entities[id]
            name = await self._name(id, id if entity is None else entity.label)
            labels = {fact.object_id: fact.object for fact in entity.facts} if entity else {}
            for statement in await self.lookup.import_statements(manifest, id):
                text = (
                    labels.get(statement.object_id, statement.object)
                    if statement.object_id
                    else statement.object
                )
                item = await self._triple(name, statement._replace(object=text))
                if item is not None:
                    yield item

    async def _triple(self, subject: str, statement: Statement) -> Item | None:
        """Return a statement as a fact; None for the name that a fact gives its subject anyway."""
        if statement.act == "default" or (statement.relation == LABEL and statement.object == subject):
            return None
        value = await self._name(statement.object_id, statement.object)
        relation = NAMES.get(statement.relation, statement.relation)
        return {
            "subject": subject,
            "relation": relation,
            "object": value,
            "act": statement.act,
            "only": "graph",
            **{name: text for name, text in zip(DETAILS, statement.details, strict=True) if text},
        }

    def _unusual_method(self, record: EditRecord) -> str:
        """Return the method of an edit; "" for the one that its memory takes by default."""
        default = str(getattr(self.memories[record.memory].options(), "method", "answer"))
        return "" if record.method == default else record.method

    def _correction(self, record: EditRecord) -> Item:
        item: Item = {"question": record.question, "answer": record.answer, "model": record.model}
        lists = {
            "paraphrases": record.paraphrases,
            "counterexamples": record.counterexamples,
            "replaces": self._list_replaced(record),
            "tests": [{"question": test.question, "answer": test.answer} for test in record.tests],
        }
        return item | {name: list(values) for name, values in lists.items() if values}

    def _list_replaced(self, record: EditRecord) -> list[str]:
        """Return the active edits that an edit was told to replace, directly or through ones that were taken back."""
        ids: list[str] = []
        for earlier in self.state.find_named(record.notes.get(TO_REPLACE, ()), record.memory):
            if earlier.model == record.model:
                ids += [earlier.id] if earlier.id in self.state.active else self._list_replaced(earlier)
        return list(dict.fromkeys(ids))
