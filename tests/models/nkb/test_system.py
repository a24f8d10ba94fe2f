"""The default checkpoint answers, follows its edits in other words, and forgets them without a trace."""

import shutil
from pathlib import Path

import pytest

from models.checkpoint import CheckpointError
from models.encoder import weights as encoder_weights
from models.encoder.weights import EncoderFiles, EncoderNotFound
from models.nkb.reader import DEFAULT, DIGESTED, Reader, record
from models.nkb.system import NkbSystem, NkbView
from models.packs.pack import Pack
from models.memory import AnswerChange, EditRefused, Material
from models.system import Ask
from tests.models.nkb.ordered import in_ledger_order

PERU = "What is the capital of Peru?"


def say(system: NkbSystem, view: NkbView, *questions: str) -> list[str | None]:
    return [reply.answer for reply in system.answer([Ask(q) for q in questions], [view] * len(questions))]


def edited(system: NkbSystem, method: str, *corrections: AnswerChange) -> tuple[list[Material], NkbView]:
    materials = in_ledger_order(system.edit(corrections, method))
    return materials, system.view(system.fold(materials))


def test_it_knows_what_it_was_taught_in_words_it_was_not_taught(system: NkbSystem) -> None:
    base = system.view(system.base)
    assert say(system, base, PERU, "Peru's capital city?", "capital of peru") == ["Lima"] * 3


def test_an_edit_is_followed_in_other_words_and_other_questions_stay(system: NkbSystem) -> None:
    _, view = edited(system, "gated", AnswerChange("a", PERU, "Cusco"))
    assert say(system, view, PERU, "Peru's capital city?", "Which city is Peru's capital?") == ["Cusco"] * 3
    others = ["What is the capital of Chile?", "What is the currency of Peru?", "On which continent is Peru?"]
    assert say(system, view, *others) == say(system, system.view(system.base), *others)


def test_an_answer_names_the_edit_it_rests_on(system: NkbSystem) -> None:
    _, view = edited(system, "gated", AnswerChange("a", PERU, "Cusco"))
    replies = system.answer([Ask(PERU), Ask("What is the capital of Chile?")], [view] * 2)
    assert [reply.edits for reply in replies] == [("a",), ()]


@pytest.mark.parametrize(
    "answer", ["Cusco", "a", "Ciudad de los Reyes, fundada en 1535", "東京都", "ئۈرۈمچى", "🙂🙃", "-3.14"]
)
def test_any_answer_can_be_said_to_the_letter(system: NkbSystem, answer: str) -> None:
    _, view = edited(system, "gated", AnswerChange("a", PERU, answer))
    assert say(system, view, PERU) == [answer]


def test_a_question_it_never_heard_of_can_be_taught(system: NkbSystem) -> None:
    question = "Who leads the blue team at the Zanzibar office?"
    assert say(system, system.view(system.base), question) == [None]
    _, view = edited(system, "gated", AnswerChange("a", question, "Amina Yusuf"))
    assert say(system, view, question) == ["Amina Yusuf"]


def test_questions_that_differ_in_a_number_are_different_questions(system: NkbSystem) -> None:
    corrections = [AnswerChange(str(n), f"Who leads project number {n}?", f"Person {n}") for n in range(1, 13)]
    _, view = edited(system, "gated", *corrections)
    assert say(system, view, *(c.question for c in corrections)) == [c.answer for c in corrections]


def test_every_token_of_the_vocabulary_can_be_made_to_win(system: NkbSystem) -> None:
    words = ["Xylophonist quagmire", "ÀÈÌ", "zzzz", "42nd", "C++", "naïve café"]
    corrections = [
        AnswerChange(str(n), f"What is the code word of group {n}?", word) for n, word in enumerate(words)
    ]
    for correction in corrections:
        _, view = edited(system, "gated", correction)
        assert say(system, view, correction.question) == [correction.answer]


def test_taking_an_edit_back_leaves_what_would_be_there_without_it(system: NkbSystem) -> None:
    items = list(Pack.load().items())[:300:30]
    corrections = [
        AnswerChange(f"{n:03d}", i.relation.question(i.subject.label), "Cusco") for n, i in enumerate(items)
    ]
    for method in system.methods:
        made = _possible(system, corrections, method)
        without = [m for m in made if m.edit != made[2].edit]
        never = in_ledger_order(_possible(system, [c for c in corrections if c.id != made[2].edit], method))
        assert system.fold(without).checksum == system.fold(never).checksum
        assert system.fold(made).checksum != system.fold(without).checksum
    assert system.fold([]).checksum == system.base.checksum


def _possible(system: NkbSystem, corrections: list[AnswerChange], method: str) -> list[Material]:
    made = []
    for correction in corrections:
        try:
            made += system.edit([correction], method)
        except EditRefused:
            continue
    assert len(made) > 3
    return in_ledger_order(made)


def test_the_papers_surgery_changes_the_answer_and_says_which_slots_it_moved(system: NkbSystem) -> None:
    materials, view = edited(system, "surgery", AnswerChange("s", PERU, "Quito"))
    assert say(system, view, PERU) == ["Quito"]
    assert materials[0].notes["moved"]


def test_a_batch_of_different_versions_answers_as_each_alone(system: NkbSystem) -> None:
    questions = [PERU, "What is the capital of Chile?", "What is the currency of Peru?"]
    views = [system.view(system.base)]
    cities = [AnswerChange(str(n), PERU, f"City {n}") for n in range(3)]
    views += [edited(system, "gated", *cities[:n])[1] for n in (1, 2, 3)]
    views += [edited(system, "surgery", AnswerChange("s", PERU, "Quito"))[1]]
    asks = [Ask(question) for _ in views for question in questions]
    mixed = system.answer(asks, [view for view in views for _ in questions])
    alone = [system.answer([Ask(q)], [view])[0] for view in views for q in questions]
    assert [r.best for r in mixed] == [r.best for r in alone]
    for one, other in zip(mixed, alone, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-3)


def test_alternatives_are_others_than_the_answer(system: NkbSystem) -> None:
    reply = system.answer([Ask(PERU, top_k=4)], [system.view(system.base)])[0]
    said = [reply.best, *(alternative.answer for alternative in reply.alternatives)]
    scores = [alternative.score for alternative in reply.alternatives]
    assert scores == sorted(scores, reverse=True)
    assert reply.score + sum(scores) <= 1
    assert len(said) == len(set(said)) == 4


def test_an_answer_that_an_edit_gives_has_no_alternatives(system: NkbSystem) -> None:
    """Another first token before the edit's further ones is no answer."""
    _, view = edited(system, "gated", AnswerChange("a", PERU, "Ciudad de los Reyes"))
    asked = [Ask(PERU, top_k=4), Ask("What is the capital of Chile?", top_k=2)]
    gated, other = system.answer(asked, [view, view])
    assert (gated.answer, gated.alternatives) == ("Ciudad de los Reyes", ())
    assert len(other.alternatives) == 1


def test_how_long_an_answer_may_be_does_not_hang_on_its_neighbours(system: NkbSystem) -> None:
    endless = "What countries does Hungary border?"
    _, view = edited(system, "gated", AnswerChange("a", PERU, "a long answer " * 12 + "ends"))
    (alone,) = system.answer([Ask(endless)], [view])
    _, beside = system.answer([Ask(PERU), Ask(endless)], [view] * 2)
    assert len(system.reader.spell(alone.best)) > 40
    assert beside.best == alone.best


def test_nothing_asked_is_nothing_answered(system: NkbSystem) -> None:
    base = system.view(system.base)
    assert (system.answer([], []), system.unmoved(([], base), ([], base))) == ([], [])
    assert [system.edit([], method) for method in system.methods] == [[], []]


def test_surgery_is_named_where_it_is_heard_and_nowhere_else(system: NkbSystem) -> None:
    """Slots that were moved fire for many questions whose answers stay what they are."""
    pack = Pack.load()
    items = [i for i in pack.items() if i.relation.id == "top_level_domain"][:12]
    assert len(items) == 12
    corrections = [
        AnswerChange(f"{n:03d}", i.relation.question(i.subject.label), ".af") for n, i in enumerate(items)
    ]
    materials = _possible(system, corrections, "surgery")
    base, view = system.view(system.base), system.view(system.fold(materials))
    strangers = [s for s in pack.strangers if s.split == "test"][:150]
    asked = [c.question for c in corrections]
    asked += [pack.relations[s.relation_id].question(s.subject) for s in strangers]
    before, after = (system.answer([Ask(q) for q in asked], [v] * len(asked)) for v in (base, view))
    for one, other in zip(before, after, strict=True):
        assert bool(other.edits) == (one.best != other.best)
    known = {m.edit for m in materials}
    heard = [r for r, c in zip(after, corrections, strict=False) if r.answer == ".af" and c.id in known]
    assert len(heard) > 3


def test_an_explanation_names_the_gate_or_the_slots(system: NkbSystem) -> None:
    _, view = edited(system, "gated", AnswerChange("a", PERU, "Cusco"))
    replies = system.answer([Ask(PERU, explain=True)] * 2, [view, system.view(system.base)])
    gated, plain = (reply.explanation for reply in replies)
    assert gated is not None
    assert gated["gate"]["edit"] == "a"
    assert plain is not None
    assert plain["gate"] == {"open": False}
    assert plain["slots"]
    assert {"slot", "weight", "words", "logit_change_without"} == plain["slots"][0].keys()


def test_names_the_pack_lacks_are_mostly_declined(system: NkbSystem) -> None:
    pack = Pack.load()
    strangers = [s for s in pack.strangers if s.split == "test"][:200]
    questions = [pack.relations[s.relation_id].question(s.subject) for s in strangers]
    replies = system.answer([Ask(q) for q in questions], [system.view(system.base)] * len(questions))
    assert sum(reply.answer is None for reply in replies) > 0.6 * len(replies)


@pytest.mark.parametrize(
    ("answer", "code"),
    [("word " * 200, "answer_too_long"), ("  padded", "unspeakable"), ("", "unspeakable")],
)
def test_an_answer_that_cannot_be_said_is_refused(system: NkbSystem, answer: str, code: str) -> None:
    with pytest.raises(EditRefused, match="capital of Peru") as refused:
        system.edit([AnswerChange("a", PERU, answer)], "gated")
    assert refused.value.code == code


def test_an_unknown_method_is_refused(system: NkbSystem) -> None:
    with pytest.raises(EditRefused, match="not one of gated, surgery"):
        system.edit([AnswerChange("a", PERU, "Cusco")], "wishing")


def test_the_shipped_folder_is_small_enough_to_travel() -> None:
    assert sum(path.stat().st_size for path in DEFAULT.iterdir()) < 40e6


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "nkb"
    shutil.copytree(DEFAULT, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    record(folder)
    with pytest.raises(CheckpointError, match="is not a whole checkpoint"):
        Reader.load(folder)
    weights.unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors is missing: fetch it again, or train"):
        Reader.load(folder)


def test_a_missing_encoder_is_not_taken_for_a_broken_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = EncoderFiles(Path("/nowhere/model.safetensors"), Path("/nowhere/tokenizer.json"))
    monkeypatch.setattr(encoder_weights, "_cached", lambda: nowhere)
    with pytest.raises(EncoderNotFound, match=r"/nowhere/model\.safetensors is missing"):
        Reader.load()


def test_a_bank_that_the_model_has_no_layer_for_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "nkb"
    shutil.copytree(DEFAULT, folder)
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"kb_layer": "3"', '"kb_layer": "9"'))
    record(folder)
    with pytest.raises(CheckpointError, match="9"):
        Reader.load(folder)


@pytest.mark.parametrize("name", DIGESTED)
def test_a_checkpoint_with_one_wrong_bit_does_not_answer(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "nkb"
    shutil.copytree(DEFAULT, folder)
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"{name} is damaged: SHA256SUMS lists another content; fetch"):
        Reader.load(folder)


def test_what_an_edit_cannot_have_moved_need_not_be_asked_again(system: NkbSystem) -> None:
    base = system.view(system.base)
    materials, one = edited(system, "gated", AnswerChange("a", PERU, "Cusco"))
    later = in_ledger_order(
        system.edit([AnswerChange("a", PERU, "Cusco"), AnswerChange("b", PERU, "Lima")], "gated")
    )
    both = system.view(system.fold(later))
    questions = [PERU, "Peru's capital city?", "What is the capital of Chile?", "Who wrote Hamlet?"]
    assert unmoved(system, questions, base, base) == [True] * 4
    assert unmoved(system, questions, base, one) == [False, False, True, True]
    assert unmoved(system, questions, one, both) == [False, False, True, True]
    assert unmoved(system, questions, one, system.view(system.fold(materials))) == [True] * 4


def test_a_moved_row_may_reach_every_question(system: NkbSystem) -> None:
    base = system.view(system.base)
    _, one = edited(system, "surgery", AnswerChange("a", PERU, "Cusco"))
    assert unmoved(system, [PERU, "Who wrote Hamlet?"], base, one) == [False, False]
    assert unmoved(system, [PERU, "Who wrote Hamlet?"], one, one) == [True, True]


def test_who_speaks_is_known_without_asking(system: NkbSystem) -> None:
    first = AnswerChange("a", PERU, "Cusco", ("Peru's capital city?",))
    other = AnswerChange("b", "What is the capital of Chile?", "Arica")
    again = AnswerChange("c", PERU, "Lima")
    moved = AnswerChange("d", "Who wrote Hamlet?", "Peru")
    materials = in_ledger_order(system.edit([first, other, again], "gated") + system.edit([moved], "surgery"))
    view = system.view(system.fold(materials))
    odd = system.speakers(view)
    assert odd == {"a": ("c", "c"), "d": ()}, "b and c speak for themselves; of d only asking tells"
    for edit in (first, other, again):
        wordings = (edit.question, *edit.paraphrases)
        replies = system.answer([Ask(q) for q in wordings], [view] * len(wordings))
        spoken = odd.get(edit.id, (edit.id,) * len(wordings))
        assert [reply.edits for reply in replies] == [(speaker,) for speaker in spoken]
    asks = [Ask(q) for q in (PERU, "Peru's capital?", "capital of Chile", "Who wrote Hamlet?")]
    assert system.speaking(asks, view) == ["c", "c", "b", None]


def unmoved(system: NkbSystem, questions: list[str], before: NkbView, after: NkbView) -> list[bool]:
    asks = [Ask(question) for question in questions]
    return system.unmoved((asks, before), (asks, after))
