"""Every metric of the service, by its Prometheus name, and the page that shows them for all processes of a machine.

Seconds; prefix `errata_`; labels are bounded by the configuration. Processes of one machine write into
PROMETHEUS_MULTIPROC_DIR, so any of them can serve the whole page. Figures of single replicas are JSON at
/admin/replicas, because the label of a dead replica would stay for ever. A `part` is `ingress`, `editor`, or the name
of a model.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from platform import python_version

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from service.metrics.page_server import serve
from service.metrics.pages import MachineCollector, prepare_directory

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
MAX_AUTHORS = 64  # authors with a separate label; the commits of all others are counted together

if os.environ.get(DIRECTORY):
    prepare_directory(Path(os.environ[DIRECTORY]))

# A gauge of all processes that live: the highest of their values, the lowest, or all together. One without labels
# begins at 0 in every process, so the lowest always has labels.
_Highest, _Lowest, _Sum = (
    partial(Gauge, multiprocess_mode=mode) for mode in ("livemax", "livemin", "livesum")
)
_Seconds = partial(Histogram, buckets=SECONDS)

ANSWERS = Counter(
    "errata_answers",
    "Questions that reached the ingress, by outcome: answered, declined, or the code of a problem.",
    ["model", "outcome"],
)
ANSWER_PARTS = _Seconds(
    "errata_answer_seconds", "Time of a question by part: queue, graph, model, total.", ["model", "part"]
)
GRAPH_PARTS = _Seconds(
    "errata_graph_seconds", "Time of a batch in the graph by part: link, read.", ["model", "part"]
)
GRAPH_ROWS = Counter(
    "errata_graph_rows",
    "Rows of imports that questions needed: hit in the cache, miss read from Redis.",
    ["model", "cache"],
)
FACTS = Histogram(
    "errata_graph_facts",
    "Facts of the graph about the words of a question.",
    ["model"],
    buckets=(0, 1, 2, 4, 8, 16, 32, 64, 128, 512),
)
BATCH = Histogram("errata_batch_size", "Questions per forward pass.", ["model"], buckets=SIZES)
EDITS = Counter("errata_edits", "Admin requests that write, by kind and outcome.", ["kind", "outcome"])
COMMIT_PARTS = _Seconds(
    "errata_commit_seconds", "Time of a commit by part: editor, report, commit, replicas.", ["part"]
)
PROPAGATION = _Seconds(
    "errata_propagation_seconds", "From a commit's append until a replica answers from it.", ["model"]
)
COMMITS = Counter("errata_commits", "Commits by the name of the key that made them.", ["author"])
LEDGER_VERSION = _Highest("errata_ledger_version", "The newest version the editor knows.", ["ledger"])
VERSION_MIN = _Lowest(
    "errata_replica_version_min", "Version of the replica that is furthest behind.", ["model"]
)
VERSION_MAX = _Highest(
    "errata_replica_version_max", "Version of the replica that is furthest ahead.", ["model"]
)
LAG = _Highest(
    "errata_replica_lag", "Versions by which the furthest replica is behind the ledger.", ["model"]
)
BEHIND = _Highest(
    "errata_replica_behind_seconds",
    "Age of the oldest commit that the furthest replica has not applied, as that replica saw it.",
    ["model"],
)
LEDGER_UP = _Lowest(
    "errata_ledger_up",
    "1 while the ledger can be read and is whole, else 0, by its reader: editor, replica.",
    ["role"],
)
REPLICAS = _Highest(
    "errata_replicas",
    "Replicas of a model by state: expected, live, ready (healthy, and at the newest version).",
    ["model", "state"],
)
DISAGREEING = _Highest(
    "errata_replicas_disagreeing",
    "Replicas of a model that hold other rows than most of their version.",
    ["model"],
)
EDIT_STATES = _Highest(
    "errata_edits_standing", "Edits by state: holding, broken, superseded, reverted.", ["state"]
)
EDITS_DUE = _Highest("errata_edits_due", "Active edits whose review date has come.")
SLOTS = _Highest("errata_memory_slots", "Slots of a memory: used, reserved.", ["memory", "slots"])
GRAPH_STATEMENTS = _Highest(
    "errata_graph_statements", "Statements of the graph by source: base, imports, edits.", ["source"]
)
GRAPH_ENTITIES = _Highest(
    "errata_graph_entities", "Entities with statements in a source: base, imports, edits.", ["source"]
)
REDIS_FAILURES = Counter(
    "errata_redis_failures", "Calls to the ledger's Redis that failed, by the caller's role.", ["role"]
)
AUDIT_LOST = Counter("errata_audit_lost", "Admin calls that could not be written to the audit.")
RATE_LIMITED = Counter(
    "errata_rate_limited",
    "Calls refused by a limit, by the unit that is counted (key, address) and by limit (rate, concurrent).",
    ["by", "limit"],
)
HTTP = Counter("errata_http_requests", "HTTP requests by route and status.", ["route", "method", "status"])
HTTP_SECONDS = _Seconds("errata_http_request_seconds", "Time of an HTTP request at the ingress.", ["route"])
PROXY_BOUNDS = _Lowest("errata_proxies_bounded", "1 if Ray's proxies bound heads, else 0.", ["part"])
IN_FLIGHT = _Sum("errata_http_in_flight", "HTTP requests being answered.")
QUEUE = _Sum(
    "errata_queue_questions",
    "Questions that wait for a model, by place: ingress, replica.",
    ["model", "place"],
)
BUILD = _Highest("errata_build_info", "1; its labels are versions.", ["version", "python"])
READY_TIME = _Highest(
    "errata_process_start_time_seconds",
    "Time at which the youngest process of a part was ready: ingress, editor, or a model's name.",
    ["part"],
)
CRASHING = Counter(
    "errata_crashing_requests",
    "Requests that were refused because they had ended two processes of a part.",
    ["part"],
)
BACKGROUND_FAILURES = Counter(
    "errata_background_failures", "Errors that ended background work, which then started again.", ["work"]
)
STARTS = Counter("errata_process_starts", "Processes of a part that started.", ["part"])
ENDS = Counter("errata_process_ends", "Processes of a part that ended on request.", ["part"])
RUNNING = _Sum("errata_processes", "Processes of a part that run.", ["part"])

UPSTREAM_REQUESTS = Counter(
    "errata_upstream_requests",
    "Requests for the models of an upstream, by outcome: edit, passed, would_answer, failed, hung_up.",
    ["upstream", "outcome"],
)
UPSTREAM_ADDED = _Seconds(
    "errata_upstream_added_seconds", "Time from a request's last byte until it is sent on.", ["upstream"]
)
UPSTREAM_OWN = Histogram(
    "errata_upstream_seconds",
    "Time of an upstream by part: head, until its first byte; hung_up, until its caller hung up.",
    ["upstream", "part"],
    buckets=(*SECONDS, 60, 120, 300),
)
UPSTREAM_TOKENS = Counter(
    "errata_upstream_tokens", "Tokens that an upstream reports, by kind: input, output.", ["upstream", "kind"]
)
UPSTREAM_REFUSED = _Highest(
    "errata_upstream_refused", "1 while an upstream that failed again and again is not asked.", ["upstream"]
)

_authors: set[str] = set()


def observe_graph(
    model: str, link_s: float, read_s: float, cache: tuple[int, int], facts: Iterable[int]
) -> None:
    GRAPH_PARTS.labels(model, "link").observe(link_s)
    GRAPH_PARTS.labels(model, "read").observe(read_s)
    GRAPH_ROWS.labels(model, "hit").inc(cache[0])
    GRAPH_ROWS.labels(model, "miss").inc(cache[1])
    for count in facts:
        FACTS.labels(model).observe(count)


def set_edit_states(counts: Mapping[str, int]) -> None:
    for state in ("holding", "broken", "superseded", "reverted"):
        EDIT_STATES.labels(state).set(counts[state])


def set_memory_usage(memory: str, n_used: int, n_reserved: int | None) -> None:
    """Set how full a memory is; `n_reserved` is None where edits bring their own slots."""
    SLOTS.labels(memory, "used").set(n_used)
    if n_reserved is not None:
        SLOTS.labels(memory, "reserved").set(n_reserved)


def set_replica_version(model: str, version: int, head: int, behind_s: float) -> None:
    """Set the version of this process's replica, and how far it is behind the ledger's."""
    VERSION_MIN.labels(model).set(version)
    VERSION_MAX.labels(model).set(version)
    LAG.labels(model).set(max(0, head - version))
    BEHIND.labels(model).set(behind_s)


def count_start(part: str) -> None:
    """Count this process as running. Starts without an end and without a running process were kills or crashes."""
    RUNNING.labels(part).set(1)
    STARTS.labels(part).inc()
    ENDS.labels(part)


def count_end(part: str) -> None:
    ENDS.labels(part).inc()
    RUNNING.labels(part).set(0)


def set_ready(part: str, port: int | None) -> None:
    """Record that this process is ready, and serve the machine's page on `port`, if any."""
    READY_TIME.labels(part).set(time.time())
    BUILD.labels(version("errata"), python_version()).set(1)
    if port is not None:
        serve(find_registry(), port)


def count_commit(author: str) -> None:
    """Count a commit of this author, as one of `others` when there are too many authors."""
    if author not in _authors and len(_authors) >= MAX_AUTHORS:
        author = "others"
    _authors.add(author)
    COMMITS.labels(author).inc()


def count_answers(model: str) -> dict[str, int]:
    """Return how many questions to a model this process has counted, by outcome."""
    samples = [sample for metric in ANSWERS.collect() for sample in metric.samples]
    return {
        sample.labels["outcome"]: int(sample.value)
        for sample in samples
        if sample.name == "errata_answers_total" and sample.labels["model"] == model and sample.value
    }


def begin_at_zero(metric: Counter | Histogram | Gauge, *labels: Iterable[object]) -> None:
    """Create the series of each combination of labels: Prometheus sees no increase in a series' first value."""
    for values in product(*labels):
        metric.labels(*values)


def count_rate_limited(by: str, limit: str) -> None:
    RATE_LIMITED.labels(by, limit).inc()


def set_upstream_refused(name: str, is_refused: bool) -> None:
    UPSTREAM_REFUSED.labels(name).set(is_refused)


def count_passed(upstream: str, outcome: str, tokens: Mapping[str, int]) -> None:
    """Count a request that an upstream answered, and the tokens that it reports by kind."""
    UPSTREAM_REQUESTS.labels(upstream, outcome).inc()
    for kind, count in tokens.items():
        UPSTREAM_TOKENS.labels(upstream, kind).inc(count)


def find_registry() -> CollectorRegistry:
    """Return the metrics of every process on this machine; without a shared directory, of this one alone."""
    directory = os.environ.get(DIRECTORY)
    if not directory:
        return REGISTRY
    registry = CollectorRegistry()
    registry.register(MachineCollector(Path(directory)))
    return registry


def render() -> bytes:
    return generate_latest(find_registry())
