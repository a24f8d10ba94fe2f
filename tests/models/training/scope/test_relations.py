"""Relations that are kept for choosing and for the test are never learnt from, nor any that resembles one."""

from models.training.scope.plan import DEFAULT
from models.training.scope.relations import SUBJECT, Relations, read_own


def test_each_relation_is_in_one_part(relations: Relations) -> None:
    parts = [set(relations.train), set(relations.choose), set(relations.test)]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert len(parts[2]) == DEFAULT.n_test
    assert len(parts[1]) == DEFAULT.n_choose + DEFAULT.n_choose_pack
    assert len(parts[0]) > 350


def test_no_phrasing_of_a_kept_relation_is_learnt_from(relations: Relations) -> None:
    learnt = {phrasing.casefold() for relation in relations.train.values() for phrasing in relation.phrasings}
    for part in (relations.choose, relations.test):
        for relation in part.values():
            assert not learnt & {phrasing.casefold() for phrasing in relation.phrasings}


def test_own_relations_are_whole() -> None:
    for_judge = read_own()
    for relation in for_judge.values():
        assert len(set(relation.phrasings)) >= 3
        assert all(phrasing.count(SUBJECT) == 1 for phrasing in relation.phrasings)
        assert set(relation.opposite) <= set(for_judge) - {relation.id}


def test_own_relations_that_resemble_a_kept_one_are_left_out(relations: Relations) -> None:
    learnt = {id for id in relations.train if id.startswith("own/")}
    assert 10 < len(set(read_own()) - learnt) < 60
