"""Where the service listens and keeps its files, and the traces that it sends."""

import os
import secrets
import stat
import subprocess
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest

from service.launch.places import ray_folder
from tests.cluster.collector import Collector, Span, path
from tests.cluster.running import Service, wait_until

LISTENING = "0A"


def sockets_of(pid: int) -> set[str]:
    inodes = set()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(handle.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    return inodes


def listeners(inodes: set[str]) -> list[tuple[str, int]]:
    """Return addresses and ports, from the kernel's own table (the address is little-endian words in hexadecimal)."""
    places = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            place, state, inode = (line.split()[i] for i in (1, 3, 9))
            if state == LISTENING and inode in inodes:
                address, _, port = place.partition(":")
                words = [bytes.fromhex(address[i : i + 8])[::-1] for i in range(0, len(address), 8)]
                places.append((str(ip_address(b"".join(words))), int(port, 16)))
    return places


def test_every_port_is_on_the_loopback_address(service: Service) -> None:
    inodes = set().union(*(sockets_of(pid) for pid in service.family()))
    places = listeners(inodes)
    assert ("127.0.0.1", service.port) in places
    loopback = ("127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::1")
    assert [place for place in places if place[0] not in loopback] == []


OTHER_UID = 65_534


def run_as_another_user(*words: str | Path) -> str:
    """What the command complains of."""
    result = subprocess.run(
        words,
        user=OTHER_UID,
        group=OTHER_UID,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PATH": os.defpath},
    )
    return result.stderr


def test_after_the_start_every_folder_is_still_its_users_alone(service: Service) -> None:
    """Ray opens its own folder to all users while it starts, which is why that is inside another."""
    folders = [ray_folder(service.var), service.var / "log", service.var / "metrics", service.var / "valkey"]
    assert [oct(stat.S_IMODE(folder.stat().st_mode)) for folder in folders] == ["0o700"] * 4
    assert (service.var / "log" / "ray").resolve().is_relative_to(ray_folder(service.var))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_can_neither_list_nor_move_what_ray_has(service: Service) -> None:
    folder = ray_folder(service.var)
    [sockets] = folder.glob("*/session_latest/sockets")
    for words in (["ls", folder], ["ls", sockets], ["mv", sockets, f"{sockets}-elsewhere"]):
        assert "Permission denied" in run_as_another_user(*words)
    assert run_as_another_user("ls", folder.parent) == "", "what holds them off is that folder's mode"
    assert sockets.is_dir()


QUESTION = "What is the capital of Peru?"
SENT_WITHIN_S = 60.0  # every process sends its spans every five seconds


def spans(collector: Collector, trace: str, expected: Sequence[str]) -> list[Span]:
    def is_complete() -> bool:
        return {span.name for span in collector.of(trace)} >= set(expected)

    wait_until(is_complete, SENT_WITHIN_S, f"spans named {expected}")
    return collector.of(trace)


def start_trace() -> tuple[str, str, dict[str, str]]:
    """Return ids of a trace and of a caller's span, and the header with which the caller asks to be traced."""
    trace, parent = secrets.token_hex(16), secrets.token_hex(8)
    return trace, parent, {"traceparent": f"00-{trace}-{parent}-01"}


def test_a_question_is_one_trace_from_its_caller_to_the_model(service: Service, collector: Collector) -> None:
    trace, parent, headers = start_trace()
    with service.http() as http:
        reply = http.post("/v1/answers", json={"question": QUESTION}, headers=headers)
    assert reply.status_code == 200
    trace_spans = spans(collector, trace, ["POST /v1/answers", "queue", "model"])
    first = next(span for span in trace_spans if span.name == "POST /v1/answers")
    assert first.parent == parent
    assert first.attributes["http.response.status_code"] == 200
    assert [first.attributes["errata.request"]] == reply.headers.get_list("x-request-id")
    assert path(trace_spans, "model") == ["POST /v1/answers", "answer nkb", "model"]
    model = next(span for span in trace_spans if span.name == "model")
    assert first.start_s <= model.start_s <= model.end_s <= first.end_s
    timings = reply.json()["timings"]
    assert 1e3 * (model.end_s - model.start_s) == pytest.approx(timings["model_ms"], abs=0.1)


def test_an_edit_is_traced_to_redis(service: Service, collector: Collector) -> None:
    trace, _, headers = start_trace()
    with service.http() as http:
        reply = http.post(
            "/admin/edits",
            json={"edits": [{"question": "What is traced?", "answer": "This"}]},
            headers=headers,
        )
    assert reply.status_code == 201, reply.text
    trace_spans = spans(collector, trace, ["POST /admin/edits", "report", "commit", "append a commit"])
    assert path(trace_spans, "append a commit")[-2:] == ["commit", "append a commit"]
    calls = [span for span in trace_spans if span.attributes.get("db.system.name") == "redis"]
    assert len(calls) > 1
    assert all(
        "127.0.0.1" in span.attributes["server.address"] or "sock" in span.attributes["server.address"]
        for span in calls
    )


def test_what_nobody_wants_traced_is_not_and_neither_are_heartbeats(
    service: Service, collector: Collector
) -> None:
    trace, _, headers = start_trace()
    with service.http() as http:
        for _ in range(20):
            http.post("/v1/answers", json={"question": QUESTION})
        http.post("/v1/answers", json={"question": QUESTION}, headers=headers)
    spans(collector, trace, ["model", "POST /v1/answers"])
    traces = {span.trace for span in collector.spans}
    assert all(any(span.name.startswith("POST ") for span in collector.of(trace)) for trace in traces)
