"""What edits cost before a language model that is as fast as can be: a stub that sends the same bytes each time.

Errata and the stub are asked in turn, so that a busy machine is as busy for both. LiteLLM's proxy is the peer.
"""

import http.client
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from urllib.parse import urlsplit

from errata import Errata
from errata.wire import EditItem

from models.packs.pack import Pack
from tests.bench.overhttp import ROUNDS, measure_load
from tests.bench.processes import free_port, run_errata, run_python
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import percentile
from tests.live.gateways import install, run_litellm

N_ASKED, WARM = 200, 20  # questions of each side
CALLERS = 8
EDITS, N_ACTIVE, PER_REQUEST = 100, 10_000, 1_000
PATH = "/v1/chat/completions"
FAR = "Item {n} of the stock list: on which shelf of hall {n} does it lie?"
BARS = {
    "hops alone": ("<= 3", "<= 10", "<= 4"),
    "none near": ("<= 8", "", "<= 9"),
    "some near": ("<= 20", "", "<= 21"),
}


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder, port = Path(name), free_port()
        url = f"http://127.0.0.1:{port}"
        modes = ("plain=off", "team=on")
        options = [f"--upstream={mode.partition('=')[0]}={url}/v1" for mode in modes]
        options += [f"--upstream-mode={mode}" for mode in modes]
        stub = run_python(["-m", "tests.service.upstream.stub", str(port)], url, folder / "stub.log")
        with stub, run_errata(folder, 1, "--system", "nkb", "--upstream-open", *options) as server:
            key = (folder / "var" / "admin.key").read_text().strip()
            with Errata(server.url, key=key, timeout_s=300) as client:
                asks = _edit_and_ask_near(client)
                yield from _measure_sides(url, server.url, asks)
                yield from _compare_with_litellm(folder, url, server.url)
                _edit_many(client, questions(N_ACTIVE - EDITS, 31))
            added_ms = _measure(url, server.url, "team", _ask_far(N_ASKED), is_stream=False)
            yield Row(f"added at {N_ACTIVE:,} edits, none near, p50", added_ms[0], "<= 10", "ms")


def _edit_and_ask_near(client: Errata) -> list[str]:
    """Edit facts, and return questions for other facts of the same subjects."""
    by_subject: dict[str, list[str]] = {}
    for item in Pack.load().items():
        by_subject.setdefault(item.subject.label, []).append(item.relation.question(item.subject.label, 0))
    groups = [group for group in by_subject.values() if len(group) > N_ASKED // EDITS][:EDITS]
    _edit_many(client, [group[0] for group in groups])
    return [question for group in groups for question in group[1 : 1 + N_ASKED // EDITS]]


def _edit_many(client: Errata, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), PER_REQUEST):
        part = texts[start : start + PER_REQUEST]
        client.edit_many(
            [EditItem(question=text, answer="Ushuaia", model="nkb") for text in part], skip_refused=True
        )


_numbers = count(1)


def _ask_far(n: int) -> list[str]:
    """Return questions that were never asked before, and that no edit is near."""
    return [FAR.format(n=number) for number in islice(_numbers, n)]


def _measure_sides(direct: str, gateway: str, near: Sequence[str]) -> Iterator[Row]:
    for is_stream in (False, True):
        sides = {"hops alone": ("plain", _ask_far(N_ASKED)), "none near": ("team", _ask_far(N_ASKED))}
        sides["some near"] = ("team", [f"{question} " for question in near] if is_stream else list(near))
        for name, (model, texts) in sides.items():
            p50, p99, n_edits = _measure(direct, gateway, model, texts, is_stream)
            subject = "first event" if is_stream else "added"
            note = f"ms; an edit answered {n_edits}"
            bars = BARS[name]
            yield Row(f"{subject}, {name}, p50", p50, bars[2] if is_stream else bars[0], note)
            if bars[1] and not is_stream:
                yield Row(f"{subject}, {name}, p99", p99, bars[1], note)


def _measure(
    direct: str, gateway: str, model: str, texts: Sequence[str], is_stream: bool
) -> tuple[float, float, int]:
    """Return by how many ms our p50 and p99 are above the stub's, and how many answers were an edit's."""
    shape = "openai" if is_stream else "json"
    callers = {f"{model}/{shape}": _Caller(gateway), shape: _Caller(direct)}
    times_ms: dict[str, list[float]] = {name: [] for name in callers}
    n_edits = 0
    for number, text in enumerate([*_ask_far(WARM), *texts]):
        for name, caller in callers.items():
            elapsed_ms, outcome = caller.ask(name, text, is_stream)
            if outcome == "edit":
                n_edits += 1
            elif number >= WARM:
                times_ms[name].append(elapsed_ms)
    gateway_ms, stub_ms = times_ms.values()
    p50, p99 = (percentile(gateway_ms, share) - percentile(stub_ms, share) for share in (0.5, 0.99))
    return p50, p99, n_edits


class _Caller:
    """Asks on one connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def ask(self, model: str, text: str, is_stream: bool) -> tuple[float, str]:
        """Return the ms until the first event or the whole reply, and the outcome."""
        messages = [{"role": "user", "content": text}]
        body = json.dumps({"model": model, "messages": messages, "stream": is_stream})
        start = time.perf_counter()
        self._connection.request("POST", PATH, body, {"content-type": "application/json"})
        reply = self._connection.getresponse()
        if is_stream:
            reply.read1(1)
            elapsed_ms = 1e3 * (time.perf_counter() - start)
        reply.read()
        if not is_stream:
            elapsed_ms = 1e3 * (time.perf_counter() - start)
        if reply.status != 200:
            raise RuntimeError(f"{model} answered {reply.status}")
        return elapsed_ms, reply.headers.get("x-errata-outcome", "")


def _compare_with_litellm(folder: Path, stub: str, gateway: str) -> Iterator[Row]:
    python = install(folder / "venv")
    place = {"model": "openai/json", "api_base": f"{stub}/v1", "api_key": "none"}
    with run_litellm(python, {"json": place}, folder, free_port()) as peer:
        targets: Mapping[str, tuple[str, str]] = {
            "mode off": (gateway + PATH, "plain/json"),
            "mode on": (gateway + PATH, "team/json"),
            "LiteLLM": (f"{peer.removesuffix('/v1')}{PATH}", "json"),
        }
        rates: dict[str, list[float]] = {name: [] for name in targets}
        for _ in range(ROUNDS):
            for name, (url, model) in targets.items():
                rates[name].append(measure_load(url, CALLERS, fields={"model": model})["per_second"])
    speed = {name: statistics.median(samples) for name, samples in rates.items()}
    for name in ("mode off", "mode on"):
        note = f"{speed[name]:.0f} against {speed['LiteLLM']:.0f} per s, {CALLERS} callers"
        yield Row(
            f"answers a second, {name}, against LiteLLM's proxy", speed[name] / speed["LiteLLM"], ">= 2", note
        )
