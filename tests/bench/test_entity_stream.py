"""The peer in the bench of the entity stream has the same words and weights, and no row reaches it."""

import pytest
import torch

from models.thu_ernie.answering.layout import lay_mask
from models.thu_ernie.answering.reader import Model
from models.thu_ernie.links import Link
from tests.bench.entity_stream import without_entities
from tests.models.thu_ernie.answering.conftest import model as model
from tests.models.thu_ernie.answering.conftest import network as network
from tests.models.thu_ernie.answering.conftest import table as table
from tests.models.thu_ernie.answering.conftest import table_folder as table_folder
from tests.models.thu_ernie.answering.tiny import SIZE


def test_the_plain_side_has_the_weights_of_the_words_and_reads_no_row(model: Model) -> None:
    plain = without_entities(model)
    fused_state, state = model.network.state_dict(), plain.network.state_dict()
    assert all(value.equal(fused_state[name]) for name, value in state.items())
    assert not [name for name in state if "_ent." in name and "predictions_ent" not in name]
    link = Link("kim", 0, 3, 1.0)
    mask = lay_mask(model.vocabulary.align("Kim was born where?", [link]), link, model.vocabulary)
    rows = [{"kim": torch.zeros(SIZE)}, {"kim": torch.ones(SIZE)}]
    queries = {id(side): side.query([mask, mask], rows) for side in (model, plain)}
    assert queries[id(plain)][0].tolist() == pytest.approx(queries[id(plain)][1].tolist())
    assert queries[id(model)][0].tolist() != pytest.approx(queries[id(model)][1].tolist())
