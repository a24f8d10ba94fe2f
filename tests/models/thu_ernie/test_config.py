"""A configuration describes a model or is refused in a sentence that names the key."""

from typing import Any

import pytest

from models.thu_ernie.config import PUBLISHED_KINDS, ConfigError, ErnieConfig

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
    "layer_types": list(PUBLISHED_KINDS),
}


def test_the_authors_file_is_read_with_the_sizes_of_their_code() -> None:
    config = ErnieConfig.from_json(BASE)
    assert (config.entity_size, config.entity_heads) == (100, 4)
    assert config.kinds.index("mix") == 5
    assert config.kinds.count("norm") == 6
    assert ErnieConfig.from_json(config.to_json()) == config


def test_a_short_list_of_layers_goes_on_with_plain_ones() -> None:
    config = ErnieConfig.from_json(BASE | {"layer_types": ["mix", "norm"]})
    assert config.kinds == ("mix", "norm", *("sim",) * 10)


def test_without_a_list_the_published_is_taken_and_said_so() -> None:
    content = {name: value for name, value in BASE.items() if name != "layer_types"}
    with pytest.warns(UserWarning, match="lacks layer_types"):
        assert ErnieConfig.from_json(content).kinds == PUBLISHED_KINDS


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
