"""A question is answered by its own edit word for word, by an edit that asks for the same fact, or by no edit.

Figures, signs, single letters and foreign words have to agree, in their order; names are left to the judge.
"""

from collections.abc import Sequence

import pytest
import torch

from models.nkb.reader import Reader
from models.scope import scope
from models.scope.candidates import find_candidates
from models.scope.literals import digest_literals, digest_wordings
from models.scope.scope import EXACT, RIVALS, Scope, find_contenders
from models.scope.verdicts import examine
from models.system import Thresholds
from tests.models.scope.wordings import ask, block, table, view

PERU, CHILE = "What is the capital of Peru?", "What is the capital of Chile?"
OTHER_WORDS = ["Which city is the capital of Peru?", "Which city is Peru's capital?"]
YEAR_FOUNDED, FOUNDER = "When was Microsoft founded?", "Who founded Microsoft?"


def test_an_edit_answers_its_own_question_and_others_that_ask_for_the_same(reader: Reader) -> None:
    edits = view(reader, block(reader, "a", 1, PERU), block(reader, "b", 2, YEAR_FOUNDED))
    assert ask(reader, edits, PERU, YEAR_FOUNDED, *OTHER_WORDS) == ["a", "b", "a", "a"]


@pytest.mark.parametrize(
    "question",
    [
        CHILE,
        "What is the currency of Peru?",
        "What is the population of the capital of Peru?",
        "Who is the mayor of the capital of Peru?",
        "What is not the capital of Peru?",
        "What was the former capital of Peru?",
        "Is Lima the capital of Peru?",
        "Why is Lima the capital of Peru?",
        "Who wrote Hamlet?",
        "",
    ],
)
def test_what_only_resembles_an_edited_question_is_not_its_own(reader: Reader, question: str) -> None:
    assert ask(reader, view(reader, block(reader, "a", 1, PERU)), question) == [None]


def test_two_facts_about_one_thing_are_two_facts(reader: Reader) -> None:
    edits = view(reader, block(reader, "when", 1, YEAR_FOUNDED), block(reader, "who", 2, FOUNDER))
    assert ask(reader, edits, YEAR_FOUNDED, FOUNDER) == ["when", "who"]


def test_an_edit_is_less_sure_beside_another_that_is_likely_too(reader: Reader) -> None:
    kirkham, kirkhaven = (
        block(reader, name, 1, f"Who is the mayor of {name}?") for name in ("Kirkham", "Kirkhaven")
    )
    probabilities = []
    for edits in ([kirkham], [kirkham, kirkhaven]):
        readings = reader.read(["Who is Kirkham's mayor?"]).readings
        (match,) = reader.scope.match(readings, [view(reader, *edits)])
        assert match is not None
        assert match.edit == "Kirkham"
        probabilities.append(match.probability)
    alone, beside = probabilities
    assert alone >= beside
    calibration = reader.scope.judge.calibration
    assert calibration.beside(2.0, 1.0) < calibration.beside(2.0, -3.0) == 2.0


def test_edits_that_ask_for_the_same_are_no_rivals(reader: Reader) -> None:
    blocks = [block(reader, "a", 1, PERU), block(reader, "b", 2, OTHER_WORDS[0])]
    readings = reader.read([OTHER_WORDS[1]]).readings
    matches = [
        reader.scope.match(readings, [view(reader, *edits)])[0] for edits in (blocks, blocks[:1], blocks[1:])
    ]
    together, *alone = [0.0 if match is None else match.probability for match in matches]
    assert together == pytest.approx(max(alone))


@pytest.mark.parametrize("question", [PERU.upper(), "what is  the capital of peru", f"  {PERU}!"])
def test_case_spaces_and_final_punctuation_make_no_other_question(reader: Reader, question: str) -> None:
    readings = reader.read([question]).readings
    (match,) = reader.scope.match(readings, [view(reader, block(reader, "a", 1, PERU))])
    assert match is not None
    assert match.probability == EXACT


def test_a_given_paraphrase_counts_like_the_question(reader: Reader) -> None:
    edits = view(reader, block(reader, "a", 1, "When does the canteen open?", "lunch starts when?"))
    readings = reader.read(["Lunch starts when"]).readings
    (match,) = reader.scope.match(readings, [edits])
    assert match is not None
    assert (match.edit, match.wording) == ("a", "lunch starts when?")


def test_of_two_edits_of_one_question_the_later_answers_until_it_is_taken_back(reader: Reader) -> None:
    wordings, first = table(reader), block(reader, "first", 1, PERU)
    second = block(reader, "second", 2, PERU, replaces=["first"])
    assert ask(reader, wordings.view([first, second]), PERU) == ["second"]
    assert ask(reader, wordings.view([first]), PERU) == ["first"]


def test_an_edit_answers_in_all_words_of_those_it_replaces(reader: Reader) -> None:
    first = block(reader, "first", 1, "When does the canteen open?", "lunch starts when?")
    second = block(reader, "second", 2, "canteen opening hours", replaces=["first"])
    third = block(reader, "third", 3, "at what hour do they serve food?", replaces=["second"])
    wordings = ["When does the canteen open?", "lunch starts when?", "canteen opening hours"]
    assert ask(reader, view(reader, first, second), *wordings) == ["second"] * 3
    assert ask(reader, view(reader, first, second, third), *wordings) == ["third"] * 3
    assert ask(reader, view(reader, first, third), *wordings[:2]) == ["first"] * 2


def test_an_edit_of_a_mere_wording_leaves_the_question_it_was_given_with(reader: Reader) -> None:
    first = block(reader, "first", 1, "When does the canteen open?", "lunch starts when?")
    second = block(reader, "second", 2, "lunch starts when?")
    edits = view(reader, first, second)
    assert ask(reader, edits, "When does the canteen open?", "lunch starts when?") == ["first", "second"]
    assert edits.find_misrouted() == {0: [0, 1]}


def test_an_edit_takes_the_place_of_those_that_surely_ask_the_same(reader: Reader) -> None:
    edits = view(
        reader, block(reader, "a", 1, PERU), block(reader, "b", 2, PERU), block(reader, "c", 3, YEAR_FOUNDED)
    )
    questions = [PERU, OTHER_WORDS[0], YEAR_FOUNDED, FOUNDER, "Who wrote Hamlet?"]
    same = reader.scope.find_same(reader.read(questions).readings, edits)
    assert same == [[0, 1], [0, 1], [2], [], []]


def test_versions_in_one_batch_keep_to_their_own_edits(reader: Reader) -> None:
    wordings, peru, chile = table(reader), block(reader, "a", 1, PERU), block(reader, "b", 2, CHILE)
    views = [wordings.view(blocks) for blocks in ([peru], [peru, chile], [])]
    readings = reader.read([CHILE, CHILE, PERU]).readings
    matches = reader.scope.route(readings, views)
    assert [match and match.edit for match in matches] == [None, "b", None]


def test_between_two_thresholds_an_edit_is_near_and_does_not_answer(reader: Reader) -> None:
    edits = view(reader, block(reader, "a", 1, PERU))
    readings = reader.read([OTHER_WORDS[0], CHILE, "Who wrote Hamlet?"]).readings
    strict = Scope(reader.scope.judge, Thresholds(opens=0.9999, near=0.01))
    near = strict.match(readings, [edits] * 3)
    assert [match and match.edit for match in near] == ["a", None, None]
    assert strict.route(readings, [edits] * 3) == [None] * 3


def test_an_edit_that_its_name_alone_keeps_away_is_near_with_its_low_probability(reader: Reader) -> None:
    edits = view(reader, block(reader, "a", 1, "Who is the harbour master of Ostervik?"))
    questions = ["Who is the harbour master of Tarnbeck?", "What does the ferry to Tarnbeck cost?"]
    readings = reader.read(questions).readings
    match, other = reader.scope.match(readings, [edits] * 2)
    assert match is not None
    assert (match.edit, other) == ("a", None)
    assert match.probability < reader.scope.thresholds.near
    assert not reader.scope.opens(match)
    assert reader.scope.route(readings, [edits] * 2) == [None, None]


def test_a_judged_pair_is_judged_alike_alone_in_a_batch_and_from_the_cache(reader: Reader) -> None:
    judge = reader.scope.judge
    texts = [PERU, CHILE, "Who wrote Hamlet?", "where", f"{PERU} " * 30]
    pairs = [(judge.tokens(first), judge.tokens(second)) for first in texts for second in texts]
    cosines = torch.zeros(len(pairs))
    fresh = type(judge).load(reader.encoder)
    together, again = fresh(pairs, cosines), fresh(pairs, cosines)
    alone = torch.cat([type(judge).load(reader.encoder)([pair], cosines[:1]) for pair in pairs[::7]])
    assert torch.equal(together, again)
    torch.testing.assert_close(together[::7], alone, atol=0.1, rtol=0.02)


def test_a_counterexample_is_never_answered_and_keeps_what_resembles_it_more_away(reader: Reader) -> None:
    mayor = "Who is the mayor of Peru's capital?"
    plain = block(reader, "a", 1, PERU, *OTHER_WORDS)
    edits = view(reader, plain, block(reader, "b", 2, PERU, counterexamples=[OTHER_WORDS[0], mayor]))
    assert ask(reader, view(reader, plain), OTHER_WORDS[0]) == ["a"]
    against = view(reader, block(reader, "b", 2, PERU, counterexamples=[OTHER_WORDS[0], mayor]))
    assert ask(reader, against, PERU, OTHER_WORDS[0], OTHER_WORDS[0].upper(), mayor) == [
        "b",
        None,
        None,
        None,
    ]
    assert ask(reader, edits, OTHER_WORDS[0]) == ["a"], "it is an example against its own edit alone"
    assert against.find_misrouted() == {}


def test_a_counterexample_that_is_hardly_nearer_takes_no_paraphrase_away(reader: Reader) -> None:
    parcel = "Who is the sender of parcel 7714?", "From whom does parcel 7714 come?"
    recipient = "Who is the recipient of parcel 7714?"
    edits = view(reader, block(reader, "a", 1, parcel[0], counterexamples=[recipient]))
    assert ask(reader, edits, *parcel, recipient) == ["a", "a", None]


def test_a_question_that_an_edit_is_not_about_does_not_take_its_place(reader: Reader) -> None:
    edits = view(reader, block(reader, "a", 1, PERU, counterexamples=["Peru's capital?"]))
    readings = reader.read(["Peru's capital?", PERU]).readings
    eager = Scope(reader.scope.judge, Thresholds(replaces=0.01))
    assert eager.find_same(readings, edits) == [[], [0]]


def test_questions_at_many_versions_are_answered_as_each_alone_and_searched_for_at_once(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    wordings, another = table(reader), view(reader, block(reader, "d", 1, PERU))
    blocks = [
        block(reader, "a", 1, PERU),
        block(reader, "b", 2, YEAR_FOUNDED, counterexamples=[FOUNDER]),
        block(reader, "c", 3, OTHER_WORDS[0], replaces=["a"]),
    ]
    versions = [wordings.view(blocks[:end]) for end in range(4)] + [another]
    pairs = [
        (question, edits) for question in (*OTHER_WORDS, FOUNDER, "Who wrote Hamlet?") for edits in versions
    ]
    alone = [ask(reader, edits, question)[0] for question, edits in pairs]
    assert set(alone) == {None, "a", "c", "d"}

    searches: list[int] = []
    monkeypatch.setattr(
        scope, "find_candidates", lambda *words: searches.append(1) or find_candidates(*words)
    )
    readings = reader.read([question for question, _ in pairs]).readings
    matches = reader.scope.route(readings, [edits for _, edits in pairs])
    assert [match and match.edit for match in matches] == alone
    assert len(searches) == 2, "one for each table"


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("What is the refund period for plan A?", "What is the refund period for plan B?"),
        ("What does vitamin C do?", "What does vitamin D do?"),
        ("中国的首都是什么？", "什么是法国的首都？"),
        ("한국의 수도는 어디입니까?", "일본의 수도는 어디입니까?"),
        ("Какая столица России?", "Какая столица Франции?"),
        ("ما هي عاصمة مصر؟", "ما هي عاصمة فرنسا؟"),
        ("Which project is 7?", "Which project is ７1?"),
        ("How fast is the A8?", "How fast is the A8X?"),
        ("How much does the TX-350 weigh?", "How much does the TX-350S weigh?"),
        ("How many trains go from gate 5 to gate 7?", "How many trains go from gate 7 to gate 5?"),
        ("What does section 4.2 say?", "What does section 2.4 say?"),
        ("Who is on duty on 2024-05-01?", "Who is on duty on 2024-01-05?"),
        ("Which screens are 16:9?", "Which screens are 9:16?"),
        ("What should I wear at -12 degrees?", "What should I wear at 12 degrees?"),
        ("For which numbers is x < 5?", "For which numbers is x > 5?"),
        ("What is 6 + 3?", "What is 6 - 3?"),
        ("Is 2.5 a good mark?", "Is 5.2 a good mark?"),
        ("What can I buy for 5 dollars?", "What can I buy for 5 euros?"),
        ("Is 20 °C warm?", "Is 20 °F warm?"),
        ("When does the 9 am bus leave?", "When does the 9 pm bus leave?"),
        ("Who wrote part II of the Sarn Chronicle?", "Who wrote part III of the Sarn Chronicle?"),
        ("What does 😀 mean?", "What does 👍 mean?"),
        ("What is the number Ⅳ?", "What is the number Ⅵ?"),
        ("What does A → B mean?", "What does A ← B mean?"),
    ],
)
def test_what_a_language_model_confuses_is_told_apart_to_the_letter(question: str, other: str) -> None:
    first, second, again = digest_literals([question, other, question.upper().replace("?", " ?")])
    assert first != second
    assert first == again


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Who wrote Emma as J. K. Rowling?", "Who wrote Emma as JK Rowling?"),
        ("What is the U.S. currency?", "What's the currency of the US?"),
        ("I want Peru's capital", "What is a capital of Peru"),
        ("Côte d'Ivoire's capital?", "capital of Côte d’Ivoire"),
    ],
)
def test_what_may_be_written_in_other_ways_is_not(question: str, other: str) -> None:
    first, second = digest_literals([question, other])
    assert first == second == 0


@pytest.mark.parametrize(
    "spellings",
    [
        ("Towns of 1,000 people", "Towns of 1000 people", "Towns of 1 000 people"),
        ("On 1 May 2024?", "On 2024-05-01?", "On May 1st, 2024?", "On the 1st of May 2024?"),
        ("The 10.30 bus", "The 10:30 am bus", "The 10:30 bus", "The 10h30 bus"),
        ("At 22:15", "At 10:15 pm", "At 10.15 p.m."),
        ("What is 5 % of it?", "What is 5% of it?", "What is 5 percent of it?", "What is 5 per cent of it?"),
        ("At -12 °C", "At minus 12 degrees Celsius", "At −12°C"),
        ("For €20", "For 20 euros", "For 20 €", "For EUR 20"),
        ("When did Louis XIV die?", "when did louis xiv die", "When did Louis the 14th die?"),
        ("Is x <= 5?", "Is x ≤ 5?"),
        ("Who has 5k followers?", "Who has 5,000 followers?", "Who has 5 thousand followers?"),
        ("What is new in v2.4?", "What is new in version 2.4?"),
        ("The 3rd race?", "Race 3?"),
        ("Where is Peru?", "Where is Peru? 😀", "Where + how is Peru?"),
        ("A 4,2 mm screw", "A 4.2 mm screw", "A 4.20mm screw", "A four point two millimetre screw"),
        ("A 16x9 screen", "A 16:9 screen", "A 16/9 screen", "A sixteen by nine screen", "A 16×9 screen"),
        ("The class of '89", "The class of 1989"),
        ("What is new in 1.3?", "What is new in v1.3?", "What is new in 1.3.0?"),
        ("A bottle of 3 l", "A bottle of 3l", "A bottle of 3 litres", "A bottle of 3 liters"),
        ("At 21° N, 13° W", "At 13 W, 21 N", "At 21N 13W", "At 13 degrees west, 21 degrees north"),
        ("Who has 5,000 of them?", "Who has five thousand of them?"),
        ("Who signs above 10,000 euros. Who?", "Who signs above €10000? Who?"),
        ("Where do we sit?", "The three of us: where do we sit?"),
        ("The 18th century", "The eighteenth century"),
        ("For €8.50", "For 8.50 euros", "For EUR 8.5", "For 8,50 €"),
        ("In 7 h 8 min", "In 7h08", "In 7 hours and 8 minutes"),
        ("What is x²?", "What is x^2?", "What is x**2?"),
        ("A card of 8 GB", "A card of 8GB", "A card of 8 gigabytes"),
        ("Take 46 µg", "Take 46 mcg", "Take 46 micrograms"),
    ],
)
def test_a_value_in_another_usual_writing_is_the_same(spellings: Sequence[str]) -> None:
    assert len(set(digest_literals(spellings).tolist())) == 1


def test_values_that_differ_never_become_equal() -> None:
    values = (
        "4.2 mm", "42 mm", "2.4 mm", "4.02 mm", "4.2 cm", "4.2 m", "-4.2 mm", "4,200 mm", "1.3", "3.1", "1.3.1",
        "1.03", "13", "1.10", "1.1", "9:16", "16:9", "160:9", "16:90", "'89", "'98", "1889", "21N 13W",
        "21S 13W", "21N 13E", "13N 21W", "10.0.0.1", "10.0.1.0", "100", "46 mg", "46 µg", "46 g", "46 kg",
        "3 l", "3 ml", "3^5", "35", "5^3", "€8.50", "€8.05", "$8.50", "2:20", "2 min 20 s", "seventeen",
        "seventy", "8.5", "850", "iPhone 5", "iPhone 5s",
    )  # fmt: skip
    digests = digest_literals([f"Which is {value}?" for value in values])
    assert len(set(digests.tolist())) == len(values)


def test_numbers_are_compared_whatever_the_words_around_them() -> None:
    number, other, same, none = digest_literals(
        ["project 7, phase 2", "project 8, phase 2", "of project 7 the phase 2?", "project"]
    )
    assert number == same
    assert len({int(number), int(other), int(none)}) == 3


def test_wordings_are_equal_but_for_case_spaces_and_final_punctuation() -> None:
    first, same, other = digest_wordings(["Who leads  X?", "who leads x", "Who led X?"])
    assert first == same != other


def test_two_edits_whose_counterexample_differs_in_case_and_mark_are_both_kept_away(reader: Reader) -> None:
    edits = view(
        reader,
        block(reader, "a", 1, PERU, counterexamples=["Peru's capital?"]),
        block(reader, "b", 2, "Which city is the capital of Peru?", counterexamples=["PERU'S capital"]),
    )
    readings = reader.read(["Peru's capital?"]).readings
    assert list(edits.edits_against.values()) == [{0, 1}]
    eager = Scope(reader.scope.judge, Thresholds(replaces=0.01))
    assert eager.find_same(readings, edits) == [[]]


def test_counterexamples_and_edits_that_they_concern_take_no_place_of_another_edit(reader: Reader) -> None:
    """The two nearest edits have a counterexample near, which is the question of a third edit for one of them."""
    leaders = [f"Who leads {name}?" for name in ("Kelandor", "Belandor", "Melandor")]
    edits = view(
        reader,
        block(reader, "a", 1, leaders[0], counterexamples=[leaders[2]]),
        block(reader, "b", 2, leaders[1], counterexamples=["Who leads Selandor?"]),
        block(reader, "c", 3, leaders[2]),
        block(reader, "d", 4, "Who is the leader of Velandor?"),
    )
    question = reader.read(["Who leads Delandor?"]).readings
    rows = find_contenders(question, [edits], 0.0).wording.tolist()
    wordings = {edits.table.wordings[row].item() for row in rows}
    expected = reader.read(
        [*leaders, "Who leads Selandor?", "Who is the leader of Velandor?"]
    ).readings.wordings
    assert wordings == set(expected.tolist())


def test_a_third_edit_is_judged_neither_for_an_answer_nor_for_its_verdict(reader: Reader) -> None:
    names = ("Kelandor", "Belandor", "Melandor", "Selandor")
    edits = view(reader, *(block(reader, name, n, f"Who leads {name}?") for n, name in enumerate(names, 1)))
    question = reader.read(["Who leads Delandor?"]).readings
    assert len(find_contenders(question, [edits], 0.0).wording) == RIVALS
    verdicts = examine(reader.scope, question, edits)
    assert 1 <= sum(verdict.probability is not None for verdict in verdicts) <= RIVALS
