"""The reading of a pack, and refusals of malformed packs with place and reason.

A question asks for a fact of the pack, or only looks like it: the shipped judge beside the fact's own questions.
"""

import json
from pathlib import Path

import pytest

from models.encoder.minilm import MiniLM
from models.kit.checkpoint import CheckpointError, write_sums
from models.packs.own_question import FOLDER, SCALE, OwnFact, OwnQuestions
from models.packs.pack import Pack, PackError
from models.scope.judge import Judge
from models.system import Reply


def edit(folder: Path, name: str, old: str, new: str) -> Path:
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(PackError) as error:
        Pack.load(folder)
    return str(error.value)


def test_a_fact_becomes_an_item_with_its_subject_relation_and_answer(folder: Path) -> None:
    items = {item.relation.id: item for item in Pack.load(folder).items()}
    assert items["capital"].subject.label == "Peru"
    assert items["capital"].answer == "Lima"
    assert items["capital"].relation.question("Peru") == "What is the capital of Peru?"


def test_several_objects_are_one_answer_in_alphabetical_order(folder: Path) -> None:
    lines = (folder / "facts.tsv").read_text("utf-8").splitlines()
    (folder / "facts.tsv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", "utf-8")
    answers = {item.relation.id: item.answer for item in Pack.load(folder).items()}
    assert answers == {"capital": "Lima", "neighbours": "Bolivia, Chile"}


def test_an_entity_is_named_by_its_label_and_its_aliases(folder: Path) -> None:
    assert Pack.load(folder).entities["Q419"].names == ("Peru", "Republic of Peru", "Perú")


def test_strangers_and_probes_may_be_absent(folder: Path) -> None:
    pack = Pack.load(folder)
    assert (pack.strangers, pack.probes) == ((), ())


def test_a_quote_or_an_unusual_line_separator_in_a_label_is_only_a_character(folder: Path) -> None:
    edit(folder, "entities.tsv", "\tBolivia\t", '\t"Bolivia\u2028\t')
    edit(folder, "facts.tsv", "\tBolivia\t", '\t"Bolivia\u2028\t')
    assert Pack.load(folder).entities["Q750"].label == '"Bolivia\u2028'


MALFORMED = [
    ("entities.tsv", "id\tlabel", "id\tname", "entities.tsv:1: the header must be id, label, type, aliases"),
    ("entities.tsv", "Q298\tChile", "Q298 Chile", "entities.tsv:3: expected 4 columns"),
    ("entities.tsv", "Q298\t", "Q2868\t", "entities.tsv:3: the id Q2868 is used twice"),
    ("entities.tsv", "Bolivia", "peru", "entities.tsv:5: 'peru' already names Q419"),
    ("entities.tsv", "Bolivia", "republic of peru", "entities.tsv:5: 'republic of peru' already names Q419"),
    ("entities.tsv", "\tplace", "\t", "entities.tsv:2: id, label and type must not be empty"),
    ("entities.tsv", "Republic of Peru | Perú", " | ", "entities.tsv:4: an alias of Q419 is empty"),
    ("entities.tsv", "Republic of Peru | Perú", "Perú | ", "entities.tsv:4: an alias of Q419 is empty"),
    ("entities.tsv", "Republic of Peru | Perú", "|", "entities.tsv:4: an alias of Q419 is empty"),
    ("facts.tsv", "Q419\tcapital", "Q1\tcapital", "facts.tsv:2: entity Q1 is not in entities.tsv"),
    ("facts.tsv", "capital", "anthem", "facts.tsv:2: relation anthem is not in relations.toml"),
    ("facts.tsv", "Lima\tQ2868", "\t", "facts.tsv:2: the object is empty"),
    ("facts.tsv", "Lima\tQ2868", "Cusco\tQ2868", "facts.tsv:2: Q2868 is not 'Cusco' in entities.tsv"),
    (
        "facts.tsv",
        "neighbours\tBolivia\tQ750",
        "capital\tBolivia\tQ750",
        "facts.tsv:3: Q419 has a second capital",
    ),
    ("facts.tsv", "Chile\tQ298", "Bolivia\tQ750", "facts.tsv:4: the fact is there twice"),
    ("pack.toml", 'version = "1"', "", "pack.toml:1: the pack lacks version"),
    ("pack.toml", 'version = "1"', 'version = "1"\nfiles = 3', "pack.toml:1: files is not a table"),
    ("pack.toml", 'version = "1"', 'version = "1"\nfiles = ["facts.tsv"]', "files is not a table"),
    ("pack.toml", 'name = "andes"', 'name = "andes', "pack.toml: not valid TOML"),
    ("relations.toml", '"one"', '"few"', 'relations.toml:2: cardinality of capital must be "one" or "many"'),
    ("relations.toml", 'label = "capital"', "", "relations.toml:2: relation capital lacks label"),
    ("relations.toml", '"{subject} has which capital?",', "", "needs at least 6 phrasings"),
    (
        "relations.toml",
        '"What borders {subject}?", ',
        "",
        "relations.toml:15: relation neighbours needs at least 3",
    ),
    (
        "relations.toml",
        '"capital of {subject}"',
        '"capital of"',
        "must hold {subject} once: mend 'capital of'",
    ),
    (
        "relations.toml",
        "{object} borders {subject}.",
        "It borders {subject}.",
        "hold {subject} and {object} once",
    ),
    ("relations.toml", "What borders {subject}?", "Which countries border {subject}?", "trains on held"),
    (
        "relations.toml",
        '"capital of {subject}"',
        '"{subject}\'S capital?"',
        "relations.toml:2: phrasings of capital say '{subject}'s capital?' 2 times: keep one",
    ),
    (
        "relations.toml",
        "Tell me what borders {subject}.",
        "What borders {subject}?",
        "relations.toml:15: held of neighbours say 'what borders {subject}?' 2 times",
    ),
    (
        "relations.toml",
        "{object} borders {subject}.",
        "{subject} borders {object}.",
        "relations.toml:15: statements of neighbours say '{subject} borders {object}.' 2 times",
    ),
    (
        "relations.toml",
        "What borders {subject}?",
        "CAPITAL of {subject}",
        "also asks for capital: reword one",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "expected"), MALFORMED)
def test_a_malformed_pack_is_refused_by_file_and_line(
    folder: Path, name: str, old: str, new: str, expected: str
) -> None:
    message = refusal(edit(folder, name, old, new))
    assert expected in message
    assert message.endswith(".")


@pytest.mark.parametrize("name", ["pack.toml", "relations.toml", "entities.tsv", "facts.tsv"])
def test_a_pack_without_one_of_its_files_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert f"{name}:1: the file is missing" in refusal(folder)


def test_a_file_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / "facts.tsv").write_bytes(b"\xff\xfe")
    assert "facts.tsv: not UTF-8 at byte 0" in refusal(folder)


def test_a_file_changed_after_its_digest_was_taken_is_refused(folder: Path) -> None:
    edit(folder, "pack.toml", 'version = "1"', f'version = "1"\n[files]\n"facts.tsv" = "{"0" * 64}"')
    assert "pack.toml was written for another facts.tsv" in refusal(folder)


def test_a_stranger_is_either_for_tuning_or_for_testing(folder: Path) -> None:
    (folder / "strangers.tsv").write_text("subject\trelation_id\tsplit\nOz\tcapital\ttrain\n", "utf-8")
    assert "strangers.tsv:2: the split is 'train'" in refusal(folder)


@pytest.mark.parametrize("name", ["peru", "REPUBLIC OF PERU", "Perú"])
def test_a_stranger_that_the_pack_holds_by_label_or_alias_is_refused(folder: Path, name: str) -> None:
    (folder / "strangers.tsv").write_text(f"subject\trelation_id\tsplit\n{name}\tcapital\ttest\n", "utf-8")
    assert f"strangers.tsv:2: '{name}' names Q419, so it is no stranger" in refusal(folder)


def probe(folder: Path, question: str, relation: str, answer: str) -> Path:
    header = "question\trelation_id\tanswer\tsubject_id"
    (folder / "probe.tsv").write_text(f"{header}\n{question}\t{relation}\t{answer}\tQ419\n", "utf-8")
    return folder


def test_a_probe_has_the_answer_of_its_item(folder: Path) -> None:
    pack = Pack.load(probe(folder, "Which countries border Peru?", "neighbours", "Bolivia, Chile"))
    assert [probe.answer for probe in pack.probes] == ["Bolivia, Chile"]


@pytest.mark.parametrize(
    ("question", "relation", "answer", "expected"),
    [
        ("", "capital", "Lima", "probe.tsv:2: the question is empty"),
        (" ", "capital", "Lima", "probe.tsv:2: the question is empty"),
        (
            "Peru's capital?",
            "capital",
            "Cusco",
            "probe.tsv:2: the answer is 'Cusco', that of facts.tsv 'Lima'",
        ),
        ("Peru's capital?", "capital", "", "probe.tsv:2: the answer is '', that of facts.tsv 'Lima'"),
        ("Peru's neighbours?", "neighbours", "Chile", "that of facts.tsv 'Bolivia, Chile'"),
        ("Who wrote Peru?", "author", "Lima", "probe.tsv:2: facts.tsv has no author of Q419"),
    ],
)
def test_a_probe_that_asks_nothing_or_has_another_answer_is_refused(
    folder: Path, question: str, relation: str, answer: str, expected: str
) -> None:
    assert expected in refusal(probe(folder, question, relation, answer))


@pytest.fixture(scope="module")
def questions() -> OwnQuestions:
    return OwnQuestions.load(Judge.load(MiniLM()))


def reply(answer: str, *edits: str) -> Reply:
    return Reply(answer, 0.99, answer, edits=edits)


@pytest.mark.parametrize(
    ("question", "answer", "word"),
    [
        ("What is not the capital of Peru?", "Lima", "not"),
        ("Who is the mayor of the capital of Peru?", "Lima", "mayor"),
        ("How far is the capital of Peru?", "Lima", "far"),
        ("Is the capital of Morocco bigger than Casablanca?", "Rabat", None),
    ],
)
def test_what_only_looks_like_a_fact_is_declined_with_a_word(
    questions: OwnQuestions, question: str, answer: str, word: str | None
) -> None:
    [result] = questions.check([question], [reply(answer)])
    assert (result.answer, result.best) == (None, answer)
    assert result.reason == "unsure"
    assert result.score < questions.scale.threshold
    assert word is None or f"“{word}”" in result.reason.sentence


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of Peru?", "Lima"),
        ("what city is perus capital", "Lima"),
        ("which city do they govern Peru from, capital i mean", "Lima"),
        ("Peru, its capital please", "Lima"),
        ("What is the best of all?", "nothing that the pack says"),
    ],
)
def test_questions_for_a_fact_and_answers_that_the_pack_lacks_stay(
    questions: OwnQuestions, question: str, answer: str
) -> None:
    assert questions.check([question], [reply(answer)]) == [reply(answer)]
    assert questions.check([], []) == []


def test_an_edit_answers_whatever_the_pack_says(questions: OwnQuestions) -> None:
    question = "Who is the mayor of the capital of Peru?"
    assert questions.check([question], [reply("Lima", "0123456789ab")])[0].answer == "Lima"


def test_the_subject_is_the_longest_name_that_the_question_has(questions: OwnQuestions) -> None:
    question = "What is the capital of South Korea?"
    assert questions.find(question, "Seoul") == [OwnFact("capital", 23, 34)]
    assert questions.knows(question, OwnFact("capital", 23, 34))


def test_a_scale_of_another_judge_is_refused(questions: OwnQuestions, tmp_path: Path) -> None:
    record = json.loads((FOLDER / SCALE).read_text())
    (tmp_path / SCALE).write_text(json.dumps(record | {"judge": "sha256:other"}))
    write_sums(tmp_path, (SCALE,))
    with pytest.raises(CheckpointError, match="belongs to another judge"):
        OwnQuestions.load(questions.judge, tmp_path)
