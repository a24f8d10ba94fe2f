"""Make a history with every kind of edit on a running service of all six systems, for later states to open.

`python -m tests.systems.history URL KEY FOLDER` writes a backup and, beside it, what each version was: its checksums,
its detail with the report, and the active edits of the last one. What is here was made once by an old state, and is
not made again: a state that changes a stored format adds a history of its own.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

Step = tuple[str, str, Any]

LAKES = (
    b"Lake Amara\tinstance of\tlake\nLake Amara\tlocated in\tPeru\n"
    b"Lake Amara\tdepth\t81 m\nLake Amara\talias\tAmara\n"
)
SHIPS = b"name,captain,home port\nVega Line,Olof Lind,Visby\nMarit,Ada Berg,\nLake Amara,,Puno\n"
GABON, TOWN = "What is the capital of Gabon?", "Which town is Gabon's capital?"
BRIDGE = "Who designed the bridge of Lindau?"
RULE = 'forbid(E) <= hidden.relation(E,"capital")'
FERRY = "The ferry Vega leaves Visby at seven. Its captain is Olof Lind. A ticket costs 12 crowns."


def edits(*items: dict[str, Any], **options: Any) -> Step:
    return "POST", "/admin/edits", {"edits": items, "wait_report": True, **options}


def change(memory: str, kind: str, **fields: Any) -> Step:
    return edits({"memory": memory, "kind": kind, "change": fields}, message=f"a change of {memory}")


def steps() -> Iterator[Step]:
    """Yield the calls, each of which makes one version, or writes something beside the versions."""
    tests = [
        {"question": "What is the capital of Chad?"},
        {"question": "Gabon's capital?", "answer": "Franceville"},
    ]
    correction = {"question": GABON, "answer": "Franceville", "paraphrases": [TOWN], "tests": tests}
    yield edits(
        correction | {"counterexamples": ["What is the capital of Chad?"]},
        message="first",
        review="9000-01-01",
    )
    yield edits({"question": BRIDGE, "answer": "Eduard Rüber"})
    gate = {"question": "Wer malte das Tor von Lübeck?", "answer": "Jörg Å"}
    yield edits({"question": BRIDGE, "answer": "Ada Berg", "replaces": [2]}, gate)
    yield edits(
        {"question": "What is the continent of Chad?", "answer": "Asia"},
        method="surgery",
        options={"lambda": 0.5},
    )
    yield edits({"question": "What is the currency of Peru?", "answer": "the new sol", "model": "backpack"})
    yield edits({"define": "captain", "holds": "one", "label": "captain of the ship"})
    yield edits({"subject": "Peru", "relation": "capital", "object": "Cusco"}, message="moved")
    yield edits(
        {"subject": "Vega Line", "relation": "founder", "object": "Olof Lind", "create": True},
        {"subject": "Vega Line", "relation": "alias", "object": "Vega Ferries"},
        {"subject": "Chile", "relation": "shares_border_with", "object": "Gabon", "act": "add"},
        {
            "subject": "Peru",
            "relation": "continent",
            "object": "South America",
            "act": "remove",
            "only": "graph",
        },
    )
    yield "POST", "/admin/graph/import?source=lakes.tsv&message=lakes", LAKES
    yield "POST", "/admin/graph/import?source=ships.csv&subject=name", SHIPS
    yield change("rules/program", "rule", rule=RULE)
    yield change("thu-ernie/entities", "rows", entity="Q1000", fact={"relation": "capital", "object": "Q100"})
    yield change("thu-ernie/entities", "rows", entity="Q10000", copy_of="Q100")
    yield change("backpack/senses", "sense", word=" Peru", action="factor", factor=0.5, first_piece=True)
    yield change(
        "backpack/senses", "sense", word=" Gabon", action="transplant", towards=[" Peru"], first_piece=True
    )
    yield change(
        "backpack/senses",
        "sense",
        word=" Lima",
        action="overwrite",
        towards=[" Africa"],
        senses=[0, 1],
        first_piece=True,
    )
    yield "PUT", "/v1/documents/ferry", {"text": FERRY, "title": "The ferry"}
    yield change("documents/texts", "document", id="ferry", action="replace", old="Olof Lind", new="Ada Berg")
    yield change("documents/texts", "document", id="ferry", action="append", text=" Dogs travel free.")
    yield "PUT", "/v1/documents/note", {"text": "The office closes at five."}
    yield "DELETE", "/v1/documents/note", None
    bad = {"question": "Who wrote the Sarn Chronicle?", "answer": "Lima, " * 99 + "Lima"}
    yield edits({"question": "Who wrote the Holm Saga?", "answer": "Nils Berg"}, bad, skip_refused=True)
    yield "POST", "/admin/reverts", {"version": 4, "wait_report": True}
    yield "POST", "/admin/rollbacks", {"to": 20, "wait_report": True}
    yield "PUT", "/admin/tags/spring", {"version": 7}
    yield "POST", "/admin/keys", {"name": "anna", "scopes": ["ask", "edit"]}
    yield (
        "POST",
        "/admin/proposals",
        {
            "edits": [{"question": "Who built the mill of Lund?", "answer": "The Hale family"}],
            "message": "please",
        },
    )
    yield "POST", "/admin/proposals/1/approval", {}
    yield (
        "POST",
        "/admin/proposals",
        {"edits": [{"question": "Who burnt the mill of Lund?", "answer": "Nobody"}]},
    )


def main(url: str, key: str, folder: Path) -> None:
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=300) as http:

        def get(path: str) -> Any:
            return http.get(path).raise_for_status().json()

        base = get("/v1/memory")["checksums"]
        for verb, path, content in steps():
            body = (
                {"content": content}
                if isinstance(content, bytes)
                else {"json": content}
                if content is not None
                else {}
            )
            reply = http.request(verb, path, **body)
            assert reply.is_success, (path, content, reply.text)
            print(reply.status_code, path, reply.json().get("version"), flush=True)
        last = get("/v1/memory")["version"]
        whole = {"base": base, "versions": [get(f"/admin/versions/{n}") for n in range(1, last + 1)]}
        whole |= {name: get(f"/admin/{name}") for name in ("edits", "reviews", "tags")}
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(whole, ensure_ascii=False, sort_keys=True)
        (folder / "expected.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        backup = http.get("/admin/export").raise_for_status().content
        (folder / "history.errata.gz").write_bytes(gzip.compress(backup, mtime=0))
        print(last, len(backup))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
