"""A neighbourhood grows a hop at a time and stops at its bounds."""

from models.graph.knowledge import Entity, Fact
from models.graph.neighbours import InEdge, Neighbourhood, Reach, in_edges_of_entities, interleave


def entity(id: str, *targets: str) -> Entity:
    return Entity(id, id, facts=tuple(Fact("knows", "knows", target, target) for target in targets))


GRAPH = {
    e.id: e for e in (entity("a", "b", "c"), entity("b", "d", "a"), entity("c", "gone", ""), entity("d"))
}


def read(reach: Reach, *start: str) -> tuple[list[str], list[list[str]]]:
    """Return the entities that were found, and those that each hop asked for."""
    area, hops = Neighbourhood(start, reach), list[list[str]]()
    while area.frontier:
        hops.append(area.frontier)
        in_edges = in_edges_of_entities(GRAPH.values()) if reach.fan_in else None
        area.advance({id: GRAPH.get(id) for id in area.frontier}, in_edges)
    return list(area.entities), hops


def test_each_hop_asks_once_for_what_the_facts_of_the_last_one_lead_to() -> None:
    assert read(Reach(3, 8, 8), "a") == (["a", "b", "c", "d"], [["a"], ["b", "c"], ["d", "gone"]])


def test_the_end_of_the_longest_path_is_not_read() -> None:
    assert read(Reach(1, 8, 8), "a")[1] == [["a"]]
    assert read(Reach(2, 8, 8), "a")[1] == [["a"], ["b", "c"]]


def test_facts_and_entities_beyond_the_bounds_are_not_followed() -> None:
    assert read(Reach(3, 1, 8), "a")[0] == ["a", "b", "d"]
    assert read(Reach(3, 8, 2), "a") == (["a", "b"], [["a"], ["b"]])
    assert read(Reach(3, 8, 1), "a", "b")[0] == ["a"]


def test_nothing_lies_around_nothing() -> None:
    assert read(Reach(3, 8, 8)) == ([], [])


def test_with_a_fan_in_a_step_leads_from_an_object_to_its_subjects() -> None:
    assert read(Reach(1, 8, 8, fan_in=8), "d") == (["d", "b"], [["d"], ["b"]])
    assert read(Reach(2, 8, 8, fan_in=8), "d") == (["d", "b", "a"], [["d"], ["b"], ["a"]])
    assert read(Reach(2, 8, 8), "d")[0] == ["d"]


def test_subjects_beyond_the_bounds_are_not_followed() -> None:
    graph = [entity("x", "hub"), entity("y", "hub")]
    edges = in_edges_of_entities(graph)
    area = Neighbourhood(["hub"], Reach(1, 8, 8, fan_in=1))
    area.advance({"hub": entity("hub")}, edges)
    assert area.frontier == ["x"]
    full = Neighbourhood(["hub"], Reach(1, 8, 1, fan_in=8))
    full.advance({"hub": entity("hub")}, edges)
    assert full.frontier == []


def test_a_bound_leaves_something_of_every_relation() -> None:
    born = [InEdge("birthplace", str(number)) for number in range(5)]
    capital = InEdge("capital", "peru")
    assert interleave([*born, capital, born[0]])[:2] == (born[0], capital)
    assert set(interleave([*born, capital, born[0]])) == {*born, capital}
