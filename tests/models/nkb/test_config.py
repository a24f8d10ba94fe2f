"""A wrong bank configuration stops with a sentence that names the key."""

import pytest

from models.nkb import BankConfig


def test_the_authors_keys_are_read_and_written_back() -> None:
    keys = {"kb_layer": "10,11", "ex_size": 3072, "adaptive_nkb": True}
    assert BankConfig.parse(keys) == BankConfig((10, 11), 3072, True)
    assert BankConfig.parse(keys).format() == keys


@pytest.mark.parametrize("keys", [{}, {"kb_layer": ""}, {"kb_layer": " ", "ex_size": 3072}])
def test_no_layers_mean_a_plain_t5(keys: dict[str, object]) -> None:
    assert BankConfig.parse(keys).layers == ()


def test_the_adapter_is_off_unless_the_checkpoint_says_so() -> None:
    assert not BankConfig.parse({"kb_layer": "2", "ex_size": 8}).adaptive


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"kb_layer": "2,x", "ex_size": 8}, "kb_layer"),
        ({"kb_layer": [2], "ex_size": 8}, "kb_layer"),
        ({"kb_layer": "-1", "ex_size": 8}, "kb_layer"),
        ({"kb_layer": "2,2", "ex_size": 8}, "kb_layer"),
        ({"kb_layer": "2"}, "ex_size"),
        ({"kb_layer": "2", "ex_size": 0}, "ex_size"),
        ({"kb_layer": "2", "ex_size": "8"}, "ex_size"),
        ({"kb_layer": "2", "ex_size": 8.5}, "ex_size"),
        ({"kb_layer": "2", "ex_size": True}, "ex_size"),
        ({"kb_layer": "2", "ex_size": 8, "adaptive_nkb": "no"}, "adaptive_nkb"),
    ],
)
def test_a_wrong_value_is_refused_by_name(keys: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        BankConfig.parse(keys)


def test_a_layer_the_decoder_lacks_is_refused_with_the_range() -> None:
    with pytest.raises(ValueError, match="layer 4 does not exist, the decoder has 0 to 3"):
        BankConfig((3, 4), 8, False).check(4)
