"""The default checkpoint answers, follows its edits in other words, and forgets them without a trace."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from models.encoder import minilm
from models.encoder import weights as encoder_weights
from models.encoder.weights import EncoderNotFound
from models.kit.checkpoint import CheckpointError, write_sums
from models.memory import AnswerChange, EditRefused, Material, Views
from models.nkb.memory import BANK, BankMemory, BankOptions
from models.nkb.overlay import Overlay
from models.nkb.reader import DEFAULT, FILES, Reader
from models.nkb.system import NkbSystem
from models.packs.pack import Pack
from models.system import Ask, Side
from tests.models.nkb.small_t5 import build, in_ledger_order, options, read

PERU = "What is the capital of Peru?"


def say(system: NkbSystem, views: Views, *questions: str) -> list[str | None]:
    return [reply.answer for reply in system.answer([Ask(q) for q in questions], [views] * len(questions))]


def edit(memory: BankMemory, method: str, *changes: AnswerChange) -> Views:
    return read(memory, build(memory, changes, method))


@pytest.mark.parametrize(
    "answer", ["Cusco", "a", "Ciudad de los Reyes, fundada en 1535", "東京都", "ئۈرۈمچى", "🙂🙃", "-3.14"]
)
def test_any_answer_can_be_said_to_the_letter(system: NkbSystem, memory: BankMemory, answer: str) -> None:
    views = edit(memory, "gated", AnswerChange("a", PERU, answer))
    assert say(system, views, PERU) == [answer]


def test_a_question_it_never_heard_of_can_be_taught(system: NkbSystem, memory: BankMemory) -> None:
    question = "Who leads the blue team at the Zanzibar office?"
    assert say(system, read(memory), question) == [None]
    views = edit(memory, "gated", AnswerChange("a", question, "Amina Yusuf"))
    assert say(system, views, question) == ["Amina Yusuf"]


def test_questions_that_differ_in_a_number_are_different_questions(
    system: NkbSystem, memory: BankMemory
) -> None:
    corrections = [
        AnswerChange(str(n), f"Who leads project number {n}?", f"Person {n}") for n in range(1, 13)
    ]
    views = edit(memory, "gated", *corrections)
    assert say(system, views, *(c.question for c in corrections)) == [c.answer for c in corrections]


def test_every_token_of_the_vocabulary_can_be_made_to_win(system: NkbSystem, memory: BankMemory) -> None:
    words = ["Xylophonist quagmire", "ÀÈÌ", "zzzz", "42nd", "C++", "naïve café"]
    corrections = [
        AnswerChange(str(n), f"What is the code word of group {n}?", word) for n, word in enumerate(words)
    ]
    for correction in corrections:
        views = edit(memory, "gated", correction)
        assert say(system, views, correction.question) == [correction.answer]


def test_taking_an_edit_back_leaves_what_would_be_there_without_it(memory: BankMemory) -> None:
    items = list(Pack.load().items())[:300:30]
    changes = [
        AnswerChange(f"{n:03d}", i.relation.question(i.subject.label), "Cusco") for n, i in enumerate(items)
    ]
    for method in BankOptions.methods():
        materials = _possible(memory, changes, method)
        without = [m for m in materials if m.edit != materials[2].edit]
        never = _possible(memory, [c for c in changes if c.id != materials[2].edit], method)
        assert memory.fold(without).checksum == memory.fold(never).checksum
        assert memory.fold(materials).checksum != memory.fold(without).checksum
    assert memory.fold([]).checksum == memory.base.checksum


def _possible(memory: BankMemory, changes: list[AnswerChange], method: str) -> list[Material]:
    """Without those that are refused."""
    results = memory.build(changes, options(method))
    materials = [result for result in results if isinstance(result, Material)]
    assert len(materials) > 3
    return in_ledger_order(materials)


def test_the_papers_surgery_changes_the_answer_and_says_which_slots_it_moved(
    system: NkbSystem, memory: BankMemory
) -> None:
    (material,) = build(memory, [AnswerChange("s", PERU, "Quito")], "surgery")
    assert say(system, read(memory, [material]), PERU) == ["Quito"]
    assert material.notes["moved"]


def test_an_answer_that_an_edit_gives_has_no_alternatives(system: NkbSystem, memory: BankMemory) -> None:
    """Another first token before the edit's further tokens would be no answer."""
    views = edit(memory, "gated", AnswerChange("a", PERU, "Ciudad de los Reyes"))
    questions = [Ask(PERU, top_k=4), Ask("What is the capital of Chile?", top_k=2)]
    gated, other = system.answer(questions, [views, views])
    assert (gated.answer, gated.alternatives) == ("Ciudad de los Reyes", ())
    assert len(other.alternatives) == 1


@pytest.mark.parametrize("surgery", [(), (AnswerChange("s", "Who wrote Hamlet?", "Peru"),)])
def test_an_edit_says_what_its_rows_make_the_decoder_say(
    system: NkbSystem, memory: BankMemory, surgery: tuple[AnswerChange, ...]
) -> None:
    """Its tokens are stored and nothing is decoded, whatever the words of the question and whatever the bank holds."""
    wordings = {
        "Cusco": (PERU, "Peru's capital city?", "Which city is Peru's capital?"),
        "東京都": ("What is the capital of Chile?", "capital of Chile"),
        "a long answer " * 20 + "ends": ("Who leads the blue team at the Zanzibar office?",),
    }
    changes = [AnswerChange(answer, questions[0], answer) for answer, questions in wordings.items()]
    surgery_materials = build(memory, surgery, "surgery") if surgery else []
    materials = in_ledger_order([*build(memory, changes), *surgery_materials])
    views = read(memory, materials)
    for material in materials[: len(changes)]:
        rows, questions = material.block.tensors, wordings[material.edit]
        steps = system.reader.pushes.values(rows["tokens"], rows["strengths"])
        questions_read = system.reader.read(questions)
        decoded_answers = system.reader.decoder.generate(
            questions_read.states,
            questions_read.mask,
            overlays=[Overlay(views[BANK].values, steps)] * len(questions),
            max_tokens=len(steps),
        )
        for explain in (False, True):
            replies = system.answer(
                [Ask(text, top_k=3, explain=explain) for text in questions], [views] * len(questions)
            )
            assert [reply.answer for reply in replies] == [
                system.reader.say(a.tokens) for a in decoded_answers
            ]
            assert {(reply.best, reply.edits, reply.alternatives) for reply in replies} == {
                (material.edit, (material.edit,), ())
            }


def test_a_question_that_an_edit_was_taught_word_for_word_is_not_read(
    system: NkbSystem, memory: BankMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = PERU + " In which year was it founded, and by whom?" * 20
    views = edit(memory, "gated", AnswerChange("a", PERU, "Cusco"), AnswerChange("b", long, "Quito"))
    reread = system.answer([Ask(PERU, explain=True), Ask(long, explain=True)], [views] * 2)
    monkeypatch.setattr(system.reader.encoder, "read", None)
    replies = system.answer([Ask(PERU), Ask(long)], [views] * 2)
    assert replies == [replace(reply, explanation=None) for reply in reread]
    assert [reply.truncated for reply in replies] == [False, True]


def test_how_long_an_answer_may_be_does_not_hang_on_its_neighbours(
    system: NkbSystem, memory: BankMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.nkb.system.MAX_TOKENS", 8)
    long = "What countries does Hungary border?"
    views = edit(memory, "gated", AnswerChange("a", PERU, "a long answer " * 12 + "ends"))
    (alone,) = system.answer([Ask(long)], [views])
    _, beside = system.answer([Ask(PERU), Ask(long)], [views] * 2)
    assert 6 <= len(system.reader.spell(alone.best)) <= 10
    assert beside.best == alone.best


def test_surgery_is_named_where_it_is_heard_and_nowhere_else(system: NkbSystem, memory: BankMemory) -> None:
    """Slots that were moved fire for many questions whose answers do not change."""
    pack = Pack.load()
    items = [i for i in pack.items() if i.relation.id == "top_level_domain"][:12]
    assert len(items) == 12
    corrections = [
        AnswerChange(f"{n:03d}", i.relation.question(i.subject.label), ".af") for n, i in enumerate(items)
    ]
    materials = _possible(memory, corrections, "surgery")
    base, views = read(memory), read(memory, materials)
    strangers = [s for s in pack.strangers if s.split == "test"][:150]
    questions = [c.question for c in corrections]
    questions += [pack.relations[s.relation_id].question(s.subject) for s in strangers]
    before, after = (system.answer([Ask(q) for q in questions], [v] * len(questions)) for v in (base, views))
    for reply, other in zip(before, after, strict=True):
        assert bool(other.edits) == (reply.best != other.best)
    edits = {m.edit for m in materials}
    changed_replies = [
        r for r, c in zip(after, corrections, strict=False) if r.answer == ".af" and c.id in edits
    ]
    assert len(changed_replies) > 3


def test_an_explanation_names_the_gate_or_the_slots(system: NkbSystem, memory: BankMemory) -> None:
    views = edit(memory, "gated", AnswerChange("a", PERU, "Cusco"))
    replies = system.answer([Ask(PERU, explain=True)] * 2, [views, read(memory)])
    gated, plain = (reply.explanation for reply in replies)
    assert gated is not None
    assert gated["gate"]["edit"] == "a"
    assert "".join(token["token"] for token in gated["spelling"]) == "Cusco"
    assert min(token["probability"] for token in gated["spelling"]) > 0.5
    assert plain is not None
    assert plain["gate"] == {"open": False}
    assert plain["slots"]
    assert {"slot", "weight", "words", "logit_change_without"} == plain["slots"][0].keys()


def test_names_the_pack_lacks_are_mostly_declined(system: NkbSystem, memory: BankMemory) -> None:
    pack = Pack.load()
    strangers = [s for s in pack.strangers if s.split == "test"][:200]
    questions = [pack.relations[s.relation_id].question(s.subject) for s in strangers]
    replies = system.answer([Ask(q) for q in questions], [read(memory)] * len(questions))
    assert sum(reply.answer is None for reply in replies) > 0.6 * len(replies)


@pytest.mark.parametrize(
    ("answer", "code"),
    [("word " * 200, "answer_too_long"), ("  padded", "unspeakable"), ("", "unspeakable")],
)
def test_an_answer_that_cannot_be_said_is_refused(memory: BankMemory, answer: str, code: str) -> None:
    (refusal,) = memory.build([AnswerChange("a", PERU, answer)], options("gated"))
    assert isinstance(refusal, EditRefused)
    assert refusal.code == code
    assert "capital of Peru" in refusal.detail


def test_a_missing_encoder_is_not_taken_for_a_broken_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = [Path("/nowhere/model.safetensors"), Path("/nowhere/tokenizer.json")]
    monkeypatch.setattr(encoder_weights, "_cached", lambda: nowhere)
    monkeypatch.setattr(minilm, "ENCODERS", {})
    with pytest.raises(EncoderNotFound, match=r"/nowhere/model\.safetensors is missing"):
        Reader.load()


def test_a_bank_that_the_model_has_no_layer_for_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "nkb"
    shutil.copytree(DEFAULT, folder)
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"kb_layer": "3"', '"kb_layer": "9"'))
    write_sums(folder, FILES)
    with pytest.raises(CheckpointError, match="9"):
        Reader.load(folder)


def test_a_moved_row_may_reach_every_question(system: NkbSystem, memory: BankMemory) -> None:
    base = read(memory)
    after = edit(memory, "surgery", AnswerChange("a", PERU, "Cusco"))
    assert may_differ(system, [PERU, "Who wrote Hamlet?"], base, after) == [True, True]
    assert may_differ(system, [PERU, "Who wrote Hamlet?"], after, after) == [False, False]


def test_which_edit_answers_is_clear_without_asking(system: NkbSystem, memory: BankMemory) -> None:
    first = AnswerChange("a", PERU, "Cusco", ("Peru's capital city?",))
    other = AnswerChange("b", "What is the capital of Chile?", "Arica")
    again = AnswerChange("c", PERU, "Lima", replaces=("a",))
    surgery = AnswerChange("d", "Who wrote Hamlet?", "Peru")
    materials = build(memory, [first, other, again]) + build(memory, [surgery], "surgery")
    views = read(memory, in_ledger_order(materials))
    owners = system.find_misrouted(views)
    assert owners == {"a": ("c", "c"), "d": ()}, "b and c answer their own wordings; of d only asking tells"
    for change in (first, other, again):
        wordings = (change.question, *change.paraphrases)
        replies = system.answer([Ask(q) for q in wordings], [views] * len(wordings))
        edits = owners.get(change.id, (change.id,) * len(wordings))
        assert [reply.edits for reply in replies] == [(edit,) for edit in edits]
    asks = [Ask(q) for q in (PERU, "Peru's capital?", "capital of Chile", "Who wrote Hamlet?")]
    assert system.route(asks, views) == ["c", "c", "b", None]


def may_differ(system: NkbSystem, questions: list[str], before: Views, after: Views) -> list[bool]:
    asks = [Ask(question) for question in questions]
    return system.may_differ(Side(asks, before), Side(asks, after))
