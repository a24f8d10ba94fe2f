"""The system aligns words with entities."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.graph.memory import GRAPH
from models.kit.text import WordPieces
from models.memory import FieldsChange, Material, Options
from models.system import Ask, Side
from models.thu_ernie.align import NO_TOKEN, OVERLAP, InvalidLink, Link, place_links
from models.thu_ernie.checkpoint import TABLE, save
from models.thu_ernie.config import ConfigError, ErnieConfig
from models.thu_ernie.entities.memory import ENTITIES, EntityMemory, RowsFields
from models.thu_ernie.entities.table import EntityView
from models.thu_ernie.reader import Model
from models.thu_ernie.system import ThuErnieSystem, load
from tests.models.reading.test_reader import tiny_reader
from tests.models.thu_ernie.answering.conftest import ADA, ANSWERS, KIM, SIZE
from tests.models.thu_ernie.answering.conftest import ask_about as ask_about
from tests.models.thu_ernie.answering.conftest import model as model
from tests.models.thu_ernie.answering.conftest import network as network
from tests.models.thu_ernie.answering.conftest import table as table
from tests.models.thu_ernie.answering.conftest import table_folder as table_folder
from tests.parity.ernie import NO_WORD, align_as_authors, clean

HENSON = Link("Q191037", 9, 19, 0.5)


def test_a_mention_behind_a_bracket_is_on_its_first_token(vocabulary: WordPieces) -> None:
    """The specification's example: the authors look for it at the word's start, which is the bracket."""
    text = "Who was (Jim Henson)?"
    result, authors = place_links(text, [HENSON], vocabulary), align_as_authors(text, [HENSON], vocabulary)
    assert {result.pieces[place].text: link for place, link in result.links.items()} == {"jim": HENSON}
    assert authors.links == {}
    assert [item.reason for item in authors.rejections] == [NO_WORD]


def test_a_script_without_spaces_is_split_by_character(vocabulary: WordPieces) -> None:
    result = place_links("a北京jim", [Link("Q956", 1, 3, 1.0), Link("Q1", 3, 6, 1.0)], vocabulary)
    assert [piece.text for piece in result.pieces] == ["a", "北", "京", "jim"]
    assert {place: link.entity for place, link in result.links.items()} == {1: "Q956", 3: "Q1"}


def test_of_mentions_that_overlap_the_longest_and_then_the_surest_wins(vocabulary: WordPieces) -> None:
    links = [
        Link("short", 0, 3, 0.9),
        Link("long", 0, 10, 0.1),
        Link("weak", 11, 14, 0.1),
        Link("sure", 11, 14, 0.2),
    ]
    result = place_links("jim henson was", links, vocabulary)
    assert {link.entity for link in result.links.values()} == {"long", "sure"}
    assert {item.link.entity: item.reason for item in result.rejections} == {
        "short": OVERLAP,
        "weak": OVERLAP,
    }


def test_a_word_that_vanishes_shifts_no_mention(vocabulary: WordPieces) -> None:
    """A lone accent is no token; the authors' code puts every later entity on the next word."""
    text = "who \u0301 jim henson"
    links = [Link("Q1", 6, 9, 1.0)]
    for result in (place_links(text, links, vocabulary), align_as_authors(text, links, vocabulary)):
        assert {result.pieces[place].text for place in result.links} == {"jim"}


def test_a_mention_without_a_token_is_told(vocabulary: WordPieces) -> None:
    result = place_links("jim henson", [Link("Q1", 1, 3, 1.0)], vocabulary)
    assert result.links == {}
    assert [item.reason for item in result.rejections] == [NO_TOKEN]


def test_a_special_token_in_a_text_is_text(vocabulary: WordPieces) -> None:
    pieces = place_links("[MASK]", [], vocabulary).pieces
    assert [piece.text for piece in pieces] == ["[", "mask", "]"]


def test_a_link_outside_the_text_is_refused(vocabulary: WordPieces) -> None:
    with pytest.raises(InvalidLink, match="Q1 marks characters 0 to 4, and the text has 3"):
        place_links("jim", [Link("Q1", 0, 4, 1.0)], vocabulary)


@given(st.text(alphabet="jim \x00\u200b\t(\ufffd\u00e9京", max_size=12), st.integers(-2, 14))
def test_cleaning_moves_a_place_with_its_character(text: str, place: int) -> None:
    clean_text, (link,) = clean(text, [Link("Q1", place, place + 1, 1.0)])
    assert not set(clean_text) & set("\x00\u200b\t\ufffd")
    if 0 <= place < len(text) and text[place] in "jim(京\u00e9":
        assert clean_text[link.begin] == text[place]


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        (Link("Q1", -1, 2, 1.0), "Q1 marks characters -1 to 2"),
        (Link("Q1", 2, 2, 1.0), "2 to 2"),
        (Link("Q1", 0, 9, 1.0), "the text has 4"),
        (Link("Q1", 0, 2, float("nan")), "score nan"),
    ],
)
def test_a_link_that_marks_nothing_is_refused(link: Link, sentence: str) -> None:
    with pytest.raises(InvalidLink, match=sentence):
        link.check("text")


BASE: dict[str, Any] = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_types": ["sim"] * 5 + ["mix"] + ["norm"] * 6,
}


def test_the_authors_file_is_read_with_the_sizes_of_their_code() -> None:
    config = ErnieConfig.from_json(BASE)
    assert (config.entity_size, config.entity_heads) == (100, 4)
    assert config.kinds.index("mix") == 5
    assert config.kinds.count("norm") == 6
    assert ErnieConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hidden_size": None}, "lacks hidden_size"),
        ({"hidden_size": 770}, "num_attention_heads is 12, which does not divide hidden_size 770"),
        ({"entity_heads": 3}, "entity_heads is 3, which does not divide entity_size 100"),
        ({"vocab_size": "many"}, "vocab_size is 'many'"),
        ({"entity_size": 0}, "entity_size is 0"),
        ({"hidden_act": "relu"}, "hidden_act is 'relu'"),
        ({"layer_types": ["sim"] * 13}, "layer_types has 13 entries and num_hidden_layers is 12"),
        ({"layer_types": ["sim", "mux"]}, "layer_types names mux"),
        ({"layer_types": "sim"}, "layer_types is 'sim'"),
        ({"num_hidden_layers": 0, "layer_types": []}, "num_hidden_layers is 0"),
        ({"num_hidden_layers": "12"}, "num_hidden_layers is '12'"),
        ({"hidden_dropout_prob": 1.5}, "hidden_dropout_prob is 1.5"),
    ],
)
def test_a_configuration_that_describes_no_model(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        ErnieConfig.from_json(BASE | change)


@pytest.fixture
def system(model: Model) -> ThuErnieSystem:
    return ThuErnieSystem(model, tiny_reader())


@pytest.fixture
def memory(model: Model) -> EntityMemory:
    return EntityMemory(model.table)


def edit(memory: EntityMemory, entity: str, value: float) -> EntityView:
    fields = RowsFields(entity=entity, vector=(value,) * SIZE)
    [material] = memory.build([FieldsChange("e1", "rows", fields)], Options())
    assert isinstance(material, Material)
    return memory.view(memory.fold([material]))


def test_only_rows_that_a_question_rests_on_may_change_its_answer(
    system: ThuErnieSystem, memory: EntityMemory, ask_about: Callable[..., Ask]
) -> None:
    base, later = memory.view(memory.base), edit(memory, "kim", 1.0)
    asks = [ask_about("Where was Kim born?", KIM), ask_about("Where was Ada born?", ADA), Ask("Where?")]
    before, after = Side(asks, {ENTITIES: base}), Side(asks, {ENTITIES: later})
    assert system.may_differ(before, after) == [True, False, True]
    assert system.may_differ(before, before) == [False] * 3
    without_facts = Side([ask_about("Where was Kim born?", replace(KIM, facts=()))], {ENTITIES: base})
    assert system.may_differ(Side(asks[:1], {ENTITIES: base}), without_facts) == [True]


def test_the_row_of_a_known_answer_that_a_request_names_may_change_its_answer(
    system: ThuErnieSystem, memory: EntityMemory, ask_about: Callable[..., Ask]
) -> None:
    ask = ask_about("Where was Kim born?", KIM, candidates=("Rome", "elsewhere"))
    views = [{ENTITIES: view} for view in (memory.view(memory.base), edit(memory, "rome", 3.0))]
    before, after = (system.answer([ask], [view])[0] for view in views)
    assert before.score != after.score
    assert system.may_differ(Side([ask], views[0]), Side([ask], views[1])) == [True]


def test_a_bundle_is_loaded_from_a_folder(model: Model, table_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(table_folder, tmp_path / TABLE)
    save(model.network, ANSWERS, model.settings, model.confidences, tmp_path)
    bundle = load(torch.device("cpu"), torch.float32, tmp_path)
    assert bundle.system.name == "thu-ernie"
    assert [memory.name for memory in bundle.memories] == [GRAPH, ENTITIES]
