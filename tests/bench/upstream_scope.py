"""`python -m tests.bench.upstream_scope SETS`: which questions an edit answers in place of a language model.

Corrections of QAEdit, their paraphrases and questions of other sets, each asked alone; then follow-ups of dialogues,
whose edits are those of the first question and of what a follow-up means. SETS is the folder of the editing sets.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path

import httpx
from errata import Errata
from errata.wire import EditItem

from tests.bench.processes import free_port, run_errata, run_python
from tests.bench.table import Row, show
from tests.bench.upstream import PATH

FOLLOW_UPS = Path(__file__).parents[1] / "service" / "upstream" / "follow_ups.jsonl"
ROLES = ("user", "assistant")


def read_rows(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


class Asker:
    """Asks an upstream's model through Errata."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60, trust_env=False)

    def ask(self, *texts: str) -> str | None:
        """Return the id of the edit that answers a dialogue's last text."""
        messages = [{"role": ROLES[n % 2], "content": text} for n, text in enumerate(texts)]
        reply = self._http.post(PATH, json={"model": "team/json", "messages": messages}).raise_for_status()
        return reply.headers["x-errata-edit"] if reply.headers["x-errata-outcome"] == "edit" else None


def edit(client: Errata, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the ids of edits by their questions."""
    items = [EditItem(question=question, answer=answer, model="nkb") for question, answer in pairs]
    return {item.question: item.id for item in client.edit_many(items, skip_refused=True).report.edits}


def measure_scope(client: Errata, asker: Asker, sets: Path) -> Iterator[Row]:
    corrections = read_rows(sets / "qaedit.open.jsonl")
    ids = edit(client, [(row["question"], row["answer"]) for row in corrections])
    active = [row for row in corrections if row["question"] in ids]
    expected = [asker.ask(row["question"]) == ids[row["question"]] for row in active]
    yield count("corrections that their edit answers", expected)
    follows = [asker.ask(row["paraphrase"]) == ids[row["question"]] for row in active]
    yield count("paraphrases that their edit answers", follows)
    groups = read_rows(sets / "near.open.jsonl")
    near = [item["question"] for group in groups for item in group["near"]]
    other_texts = {item["question"] for row in corrections for item in row["unrelated"]}
    other_texts.update(near, *(group["same"] for group in groups))
    yield count("other questions that an edit answers", [asker.ask(text) is not None for text in other_texts])
    near_ids = edit(client, [(group["wording"], group["answer"]) for group in groups])
    pairs = [(text, near_ids.get(group["wording"])) for group in groups for text in group["same"]]
    same = [asker.ask(text) == expected for text, expected in pairs]
    yield count("near groups: paraphrases that their edit answers", same)
    wrong = [asker.ask(text) is not None for text in near]
    yield count("near groups: near questions that an edit answers", wrong)


def measure_follow_ups(client: Errata, asker: Asker) -> Iterator[Row]:
    rows = read_rows(FOLLOW_UPS)
    questions = [question for row in rows for question in (row["question"], row["other"])]
    edit(client, [(question, f"answer {n}") for n, question in enumerate(questions)])
    dialogues = [(row["question"], row["answer"], text) for row in rows for text in row["follow_ups"]]
    answers = [asker.ask(*dialogue) is not None for dialogue in dialogues]
    for dialogue in compress(dialogues, answers):
        print("an edit answered", dialogue)
    yield count("follow-ups that an edit answers", answers, "<= 2")
    yield count("the edited questions themselves, alone", [asker.ask(text) is not None for text in questions])


def count(name: str, values: Sequence[bool], bar: str = "") -> Row:
    return Row(name, 100 * sum(values) / len(values), bar, f"per cent, {sum(values):,} of {len(values):,}")


def main(sets: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder, port = Path(name), free_port()
        url = f"http://127.0.0.1:{port}"
        stub = run_python(["-m", "tests.service.upstream.stub", str(port)], url, folder / "stub.log")
        options = (
            "--system",
            "nkb",
            "--upstream-open",
            "--upstream",
            f"team={url}/v1",
            "--upstream-mode",
            "team=on",
        )
        with stub, run_errata(folder, 1, *options) as server:
            key = (folder / "var" / "admin.key").read_text().strip()
            with Errata(server.url, key=key, timeout_s=300) as client:
                asker = Asker(server.url)
                show([*measure_follow_ups(client, asker), *measure_scope(client, asker, sets)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
