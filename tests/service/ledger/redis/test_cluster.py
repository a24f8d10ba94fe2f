"""A cluster is found from any of its nodes, is used like one server, and its special failures are named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import redis

from service.errors import LedgerUnavailable
from service.ledger import keys
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.redis.address import parse_servers
from service.ledger.redis.cluster import ClusterLocator, View
from service.ledger.redis.connection import Connection
from service.ledger.redis.failover import Node
from service.ledger.redis.pool import Pool
from service.ledger.store import RedisLedger
from tests.service.ledger.redis.clusters import HOST, SLOT, LocalCluster, NodeProcess, free_ports
from tests.service.ledger.writing import write_and_read
from tests.service.parts import stopwatch

CLOSED_PORT = f"{HOST}:9"  # the port of a service that never runs


@pytest.fixture
def raw(cluster: LocalCluster) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(cluster.url) as client:
        client.flushall()
        yield client


def places(nodes: list[NodeProcess]) -> str:
    return ",".join(f"{HOST}:{node.port}" for node in nodes)


@pytest.mark.parametrize("number", range(4))
async def test_any_node_leads_to_the_ledger(cluster: LocalCluster, raw: redis.Redis, number: int) -> None:
    await write_and_read(cluster.nodes[number].url)
    assert raw.xlen(keys.LOG) == 2


async def test_of_a_list_of_nodes_some_may_be_gone(cluster: LocalCluster, raw: redis.Redis) -> None:
    await write_and_read(f"redis://{CLOSED_PORT},{places(cluster.other_masters)}")
    assert raw.xlen(keys.LOG) == 2


async def test_a_list_of_nodes_may_carry_a_user_and_settings(cluster: LocalCluster, raw: redis.Redis) -> None:
    for node in cluster.nodes:
        node.say("ACL SETUSER", "ann", "on", ">p,w", "~*", "+@all")
    await write_and_read(f"redis://ann:p%2Cw@{places(cluster.nodes)}/0?socket_keepalive=yes")


class Witnesses(ClusterLocator):
    """Five nodes that each name a holder; the quickest was cut off and names itself."""

    async def _view(self, node: Node) -> View:
        await asyncio.sleep(node[1] / 100)
        return View(("lonely", 1) if node[1] == 1 else ("holder", 2), (node,))


async def test_most_nodes_are_believed_and_not_the_quickest() -> None:
    nodes = Witnesses(parse_servers("redis://a:1,b:2,c:3,d:4,e:90"), Pool(4, 1.0, 1.0))
    async with stopwatch() as seconds:
        assert await nodes.locate() == ("holder", 2)
        assert seconds() < 0.3, "the slowest is not waited for"


async def test_a_cluster_that_moved_whole_is_found_again_by_its_address(cluster: LocalCluster) -> None:
    nodes = ClusterLocator(parse_servers(cluster.other_masters[0].url), Pool(4, 1.0, 1.0))
    nodes._nodes = [(HOST, 9)]  # as if the pods had new addresses and the name the old one
    assert await nodes.locate() == (HOST, cluster.master.port)


@pytest.mark.parametrize("place", ["cluster", "valkey"])
async def test_what_other_parts_keep_beside_the_commits_works_on_both(
    request: pytest.FixtureRequest, raw: redis.Redis, place: str
) -> None:
    connection = Connection(request.getfixturevalue(place).url, 5.0)
    redis, names = connection.commands, [f"{keys.PREFIX}graph:{number}" for number in range(600)]
    table = f"{keys.PREFIX}graph:state"
    try:
        for transaction in (False, True):
            pipeline = redis.pipeline(transaction=transaction)
            for name in names:
                pipeline.set(name, name.encode() * 200)
            assert await pipeline.execute() == [True] * 600
            assert await redis.mget([*names, keys.PREFIX + "none"]) == [n.encode() * 200 for n in names] + [
                None
            ]
            assert await redis.unlink(*names) == 600
        await redis.hset(table, mapping={"a": b"\x00\xff", "b": 1})
        assert await redis.hgetall(table) == {b"a": b"\x00\xff", b"b": b"1"}
        assert (await redis.hdel(table, "a", "b"), await redis.hgetall(table)) == (2, {})
    finally:
        await connection.aclose()


async def refusal(url: str) -> str:
    ledger = RedisLedger.connect(url, limit_s=1.0)
    try:
        with pytest.raises(LedgerUnavailable) as error:
            await ledger.check()
    finally:
        await ledger.aclose()
    return str(error.value)


async def test_a_database_that_a_cluster_has_not_is_refused(cluster: LocalCluster) -> None:
    assert "DB index is out of range" in await refusal(f"{cluster.url}/2")


async def test_a_node_behind_a_socket_file_is_refused(cluster: LocalCluster) -> None:
    message = await refusal(f"unix://{cluster.master.folder}/socket")
    assert "a node of a cluster is named by its host and port" in message


async def test_a_list_of_nodes_that_all_are_gone_is_named() -> None:
    assert f"the ledger at redis://{CLOSED_PORT},{CLOSED_PORT} failed to answer: Error" in await refusal(
        f"redis://{CLOSED_PORT},{CLOSED_PORT}"
    )


async def test_a_password_that_a_cluster_wants_is_asked_for(cluster: LocalCluster) -> None:
    address = f"redis://ann:wrong@{places(cluster.nodes)}"
    message = await refusal(address)
    assert "refuses this user or password" in message
    assert "wrong" not in message


async def test_a_slot_on_its_way_to_another_node_is_named(cluster: LocalCluster, raw: redis.Redis) -> None:
    ledger = RedisLedger.connect(cluster.url)
    cluster.master.say("CLUSTER SETSLOT", SLOT, "MIGRATING", cluster.other_masters[0].say("CLUSTER MYID"))
    try:
        with pytest.raises(LedgerUnavailable, match="is moving the ledger from one node to another"):
            await ledger.head()
    finally:
        cluster.master.say("CLUSTER SETSLOT", SLOT, "STABLE")
    assert await ledger.head() == 0
    await ledger.aclose()


@pytest.mark.parametrize(
    ("replicas", "warning"),
    [(0, "makes that rare, not impossible"), (1, "though min-replicas-to-write makes that rare")],
)
async def test_the_check_says_what_a_cluster_does_not_promise(
    cluster: LocalCluster, raw: redis.Redis, replicas: int, warning: str
) -> None:
    ledger = RedisLedger.connect(cluster.other_masters[0].url)
    cluster.master.say("CONFIG SET", "min-replicas-to-write", replicas)
    try:
        server = await ledger.check()
    finally:
        cluster.master.say("CONFIG SET", "min-replicas-to-write", 0)
        await ledger.aclose()
    assert (server.name, len(server.warnings)) == ("valkey", 1)
    assert warning in server.warnings[0]


async def test_a_single_server_in_a_list_is_told_apart(own_valkey: EmbeddedValkey) -> None:
    [port] = free_ports(1)
    with redis.Redis.from_url(own_valkey.url) as client:
        client.config_set("bind", HOST)
        client.config_set("port", port)
    assert "cluster support disabled" in await refusal(f"redis://{HOST}:{port},{CLOSED_PORT}")
