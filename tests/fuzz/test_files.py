"""Files with random faults, sent to everything that takes one: `MINUTES=60 make fuzz` goes on for so long.

The first ones are small and sound; with MINUTES those of `tests/live/strangers_files.py` are among them, too.
"""

import io
import os
import random
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence

import httpx
import psutil
import pytest

from tests.live.strangers_files import PLAIN, TOKEN, Sending, generate, load, put, upload
from tests.service.extraction.test_extraction import write_pdf
from tests.service.http.serving import SYSTEMS, Service, serve_in_thread
from tests.workbooks import share_texts

MINUTES = float(os.environ.get("MINUTES", "0"))
N_FILES = 60  # files of a run without MINUTES, times `--fuzz`
LIMIT_S, HEALTH_LIMIT_S, MAX_GROWTH = 120.0, 10.0, 600_000_000  # seconds of a reply; bytes
ROUTES = {"import": "/admin/graph/import", "document": "/v1/documents/{id}", "restore": "/admin/import"}
PAGE = {200, 303, 400, 401, 403, 404, 408, 409, 413, 415, 422, 429}  # statuses of a page of the console
PIECES = [b"", b"\x00", b"\xff\xfe", b'"', b"\r", b"\n\n", b"\t", b"{", b"[" * 50, b"]", b"<", b"</", b"&#0;"]
PIECES += [
    b"9" * 400,
    b"-1",
    b"1e999",
    b"\xed\xa0\x80",
    b"endobj",
    b"%PDF",
    b"PK\x03\x04",
    b"_:b0",
    b"\\u0000",
]
CSV = b"question,answer\r\nWho runs the mill?,Ada\nsubject,relation,object\n"
LINES = b"Peru\tcapital\tLima\nNordby\tmayor\t1e5\n"
TRIPLES = b'<http://a/b> <http://a/p> "x"@en .\n_:c <http://a/p> <http://a/b> .\n'
ITEM = (
    b'{"id":"Q1","labels":{"en":{"value":"a"}},"claims":{"P36":[{"mainsnak":{"datavalue":{"value":"b"}}}]}}'
)
HTML = b"<html><title>T</title><body><table><tr><td>a<td>b</table><p>The mill &amp; co<br>1820</body></html>"


@pytest.fixture(scope="module")
def service_of_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    systems = SYSTEMS | {"docs": "tests.service.toy_documents:load"}
    limits = {"rate_per_key": "1000000/minute", "rate_per_address": "1000000/minute"}
    with serve_in_thread(tmp_path_factory.mktemp("files"), systems=systems, **limits) as service:
        yield service


def list_seeds(backup: bytes) -> list[tuple[str, Sending]]:
    """Return the target of each first file, and how it is sent."""
    books = PLAIN, share_texts(PLAIN)
    imports = [
        *(load(book, subject="question", format="xlsx") for book in books),
        load(CSV, subject="question"),
    ]
    imports += [
        load(LINES),
        load(LINES, format="csv"),
        load(TRIPLES, format="nt"),
        load(ITEM, format="wikidata"),
    ]
    documents = [
        put("text/plain", HTML),
        put("text/html", HTML),
        put("application/pdf", write_pdf("one", "two")),
    ]
    forms = [upload("a.xlsx", book) for book in books]
    forms += [upload(f"a.{kind}", text) for kind, text in (("csv", CSV), ("tsv", LINES), ("json", ITEM))]
    seeds = [("import", item) for item in imports] + [("document", item) for item in documents]
    seeds += [("restore", Sending("/admin/import", "application/x-tar", backup))]
    seeds += [("console", item) for item in forms]
    for name, make in generate() if MINUTES else ():
        target = {"form": "console"}.get(kind := name.partition(":")[0], kind)
        if target in ROUTES or (target == "console" and (sending := make()).path == "/console/files"):
            seeds.append((target, make() if target in ROUTES else sending))
    return seeds


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with up to eight faults."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        start, size = (
            rng.randrange(len(changed) + 1),
            min(rng.choice([1, 4, 60, 2_000]), 1 + len(changed) // 3),
        )
        faults: list[Callable[[], bytes]] = [
            lambda size=size: rng.randbytes(min(size, 60)),  # type: ignore[misc]
            lambda: rng.choice(PIECES),
            lambda start=start, size=size: bytes(changed[start : start + size]) * rng.randint(2, 9),  # type: ignore[misc]
        ]
        changed[start : start + rng.choice([0, size])] = rng.choice(faults)()
    return bytes(changed)


def damage_book(data: bytes, rng: random.Random) -> bytes:
    """Return an archive of which one member, in the body of a request perhaps, has faults."""
    start, end = data.index(b"PK\x03\x04"), data.rindex(b"PK\x05\x06") + 22
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data[start:end])) as source, zipfile.ZipFile(file, "w", 8) as target:
        faulty_name = rng.choice(source.namelist())
        for name in source.namelist():
            part = source.read(name)
            target.writestr(name, damage(part, rng) if name == faulty_name else part)
    return data[:start] + file.getvalue() + data[end:]


def make_files(
    seeds: Sequence[tuple[str, Sending]], rng: random.Random, times: int
) -> Iterator[tuple[str, Sending]]:
    n_files, ends_at = N_FILES * times, time.monotonic() + 60 * MINUTES
    while n_files > 0 or time.monotonic() < ends_at:
        n_files -= 1
        target, sending = rng.choice(seeds)
        is_book = b"PK\x05\x06" in sending.body and rng.random() < 0.8
        body = (damage_book if is_book else damage)(sending.body, rng)
        yield target, sending._replace(body=body)


@pytest.mark.timeout(300 + 120 * MINUTES)
def test_a_file_with_faults_gets_a_documented_status_within_its_bounds(
    service_of_files: Service, seed: int, times: int
) -> None:
    service, rng = service_of_files, random.Random(seed)
    cookie = f"errata_form={TOKEN}; errata_key={service.key}"
    with httpx.Client(base_url=service.url, headers=service.authorization, timeout=LIMIT_S) as http:
        paths = http.get("/openapi.json").json()["paths"]
        seeds, memory = list_seeds(http.get("/admin/export").content), psutil.Process().memory_info().rss
        for number, (target, sending) in enumerate(make_files(seeds, rng, times)):
            headers = {"content-type": sending.media_type, "cookie": cookie}
            reply = http.request(sending.verb, sending.path, content=sending.body, headers=headers)
            where = f"file {number} of --fuzz-seed {seed}: {target} {sending.path}: {reply.text[:400]}"
            route = paths[ROUTES[target]][sending.verb.lower()] if target in ROUTES else {"responses": PAGE}
            assert reply.status_code < 500, where
            assert reply.status_code in set(map(int, route["responses"])), where
            assert http.get("/healthz", timeout=HEALTH_LIMIT_S).status_code == 200, where
            assert psutil.Process().memory_info().rss < memory + MAX_GROWTH, where
    print(f"{number + 1:,} files with faults")
