"""Two texts become a row and a batch, with a vector where a mention begins and a zero vector at [CLS]."""

from collections.abc import Mapping

import torch
from torch import Tensor

from models.thu_ernie.row import Link, Row, Vocabulary, collate

JIM = Link("Q1", 0, 3, 1.0)


class Vectors:
    """A table of three rows."""

    rows: Mapping[str, int] = {"Q1": 1, "Q2": 2}
    vectors = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])

    def row_of(self, entity: str) -> int:
        return self.rows.get(entity, 0)

    def look_up(self, rows: Tensor) -> Tensor:
        return self.vectors[rows]


def row(vocabulary: Vocabulary, *texts: tuple[str, list[Link]]) -> Row:
    return Row.of([vocabulary.align(text, links) for text, links in texts], vocabulary)


def test_a_pair_has_two_segments_and_its_mentions_behind_the_separator(vocabulary: Vocabulary) -> None:
    pair = row(vocabulary, ("who was", []), ("jim", [JIM]))
    assert [token.text for token in pair.tokens] == ["[CLS]", "who", "was", "[SEP]", "jim", "[SEP]"]
    assert pair.segments == (0, 0, 0, 0, 1, 1)
    assert pair.links == {4: JIM}


def test_a_batch_has_vectors_at_mentions_and_a_zero_vector_at_cls(vocabulary: Vocabulary) -> None:
    rows = [row(vocabulary, ("jim was a cafe", [JIM, Link("Q2", 10, 14, 1.0)])), row(vocabulary, ("jim", []))]
    batch = collate(rows, Vectors(), padding=0)
    assert batch.entities is not None
    assert batch.is_linked is not None
    assert batch.ids.shape == (2, 6)
    assert batch.is_real.sum(1).tolist() == [6, 3]
    assert batch.is_linked.nonzero().tolist() == [[0, 0], [0, 1], [0, 4], [1, 0]]
    assert batch.entities[0, [0, 1, 4]].tolist() == [[0, 0], [1, 2], [3, 4]]
    assert not batch.entities[1].any()


def test_a_link_without_a_vector_is_not_linked(vocabulary: Vocabulary) -> None:
    unknown = row(vocabulary, ("jim", [Link("Q9", 0, 3, 1.0)]))
    batch = collate([unknown], Vectors(), padding=0)
    assert batch.is_linked is not None
    assert batch.is_linked.tolist() == [[True, False, False]]


def test_without_a_table_the_texts_are_read_alone(vocabulary: Vocabulary) -> None:
    batch = collate([row(vocabulary, ("jim", [JIM]))], None, padding=0)
    assert batch.entities is None
    assert batch.is_linked is None
