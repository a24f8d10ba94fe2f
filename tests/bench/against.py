"""`python -m tests.bench.against REVISION`: what a question costs, against an earlier state of this repository.

Two processes, one of each, are asked in turn, so that a busy machine is as busy for both. With `--http` they are two
services, and answers a second are compared, with `--auto` those of all systems of the default start together; with
`--edits` the times of an edit are.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from errata import Errata

from models.packs.pack import Pack
from service.launch.environment import REPLICA_ENVIRONMENT
from tests.bench.overhttp import CALLERS, ROUNDS, measure_load
from tests.bench.processes import run_errata
from tests.bench.questions import questions
from tests.bench.table import Row, show
from tests.bench.timing import measure_cost

ROOT = Path(__file__).parents[2]
PAIRS = {1: 300, 8: 100, 32: 60}  # by the size of the batch; short times are disturbed more
WARM = 4
EDITS = 60  # edits of each service
ANSWER_LINES = """
import json, sys
from models.system import Ask
try:
    from models.nkb.system import load
except ImportError:  # a revision whose systems held their memory
    from models.nkb.system import NkbSystem
    system = NkbSystem.load()
    base = system.view(system.base)
else:
    import torch
    loaded = load(torch.device("cpu"), torch.float32)
    system, base = loaded.system, {memory.name: memory.view(memory.base) for memory in loaded.memories}
print(flush=True)
for line in sys.stdin:
    asks = [Ask(question) for question in json.loads(line)]
    system.answer(asks, [base] * len(asks))
    print(flush=True)
"""


class Side:
    """A process that answers with the code in `tree`, its environment a replica's or another one."""

    def __init__(self, tree: Path, environment: Mapping[str, str] = REPLICA_ENVIRONMENT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", ANSWER_LINES],
            cwd=tree,
            env={"PYTHONPATH": f"{tree}:{tree / 'clients' / 'python'}", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._wait()

    def _wait(self) -> None:
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise RuntimeError(f"it ended with status {self.process.wait(10)}: see above")

    def answer(self, batch: list[str]) -> None:
        assert self.process.stdin is not None
        print(json.dumps(batch), file=self.process.stdin, flush=True)
        self._wait()


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.bench.against", description=__doc__)
    parser.add_argument("revision", help="such as a tag, or the commit that wrote RESULTS.md")
    services = parser.add_mutually_exclusive_group()
    services.add_argument("--http", action="store_true", help="compare answers a second over HTTP")
    services.add_argument("--edits", action="store_true", help="compare the times of an edit over HTTP")
    parser.add_argument("--auto", action="store_true", help="with --http: ask nkb and kbert, not nkb alone")
    options = parser.parse_args()
    model = "auto" if options.auto else "nkb"
    revision = options.revision
    verify = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    if subprocess.run(verify, cwd=ROOT, stdout=subprocess.DEVNULL).returncode:
        parser.error(f"{revision!r} is no revision of this repository")
    with ExitStack() as stack:
        trees = stack.enter_context(check_out(revision)), ROOT
        if options.http or options.edits:
            then, now = (stack.enter_context(_serve(tree, model)) for tree in trees)
            compare = partial(_compare_rates, model=model) if options.http else _compare_edits
            show(list(compare(then, now, revision)))
            return
        sides = then_side, now_side = [Side(tree) for tree in trees]
        for side in sides:
            stack.callback(side.process.kill)
        show([_row(size, then_side, now_side, revision) for size in PAIRS])


@contextmanager
def _serve(tree: Path, model: str) -> Iterator[Errata]:
    """Run the service with the code in `tree`, and yield a client with its admin key."""
    with TemporaryDirectory(prefix="errata-bench-") as name:
        folder = Path(name)
        systems = () if model == "auto" else ("--system", model)
        with run_errata(folder, 1, *systems, tree=tree) as server:
            key = (folder / "var" / "admin.key").read_text().strip()
            with Errata(server.url, key=key) as client:
                yield client


def _compare_rates(then: Errata, now: Errata, revision: str, model: str) -> Iterator[Row]:
    for callers in CALLERS:
        rates: dict[Errata, list[float]] = {then: [], now: []}
        for _ in range(ROUNDS):
            for client, samples in rates.items():
                figures = measure_load(f"{client.url}/v1/answers", callers, fields={"model": model})
                samples.append(figures["per_second"])
        ratio = median(new / old for new, old in zip(rates[now], rates[then], strict=True))
        note = f"{median(rates[now]):.0f} against {median(rates[then]):.0f} per s"
        yield Row(f"over HTTP, {callers} callers, against {revision}", ratio, ">= 0.98", note)


def _compare_edits(then: Errata, now: Errata, revision: str) -> Iterator[Row]:
    """Correct the same questions in both versions in turn; each question gets the answer of another one."""
    answers = sorted({item.answer for item in Pack.load().items()})
    corrections = list(zip(questions(EDITS + 1, seed=23), cycle(answers), strict=False))
    edit_now, edit_then = (partial(_make_next, client, iter(corrections)) for client in (now, then))
    percent = measure_cost({"now": edit_now, "then": edit_then}, EDITS)
    yield Row(
        f"an edit over HTTP, against {revision}", percent, "<= 10 %", f"per cent, median of {EDITS} pairs"
    )


def _make_next(client: Errata, corrections: Iterator[tuple[str, str]]) -> None:
    client.edit(*next(corrections))


@contextmanager
def check_out(revision: str) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True
        )
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def _row(size: int, then: Side, now: Side, revision: str) -> Row:
    batch = questions(max(PAIRS))[:size]
    for side in (then, now) * WARM:
        side.answer(batch)
    percent = measure_cost(
        {"now": lambda: now.answer(batch), "then": lambda: then.answer(batch)}, PAIRS[size]
    )
    note = f"per cent, median of {PAIRS[size]} pairs"
    return Row(f"in process, batch of {size}, against {revision}", percent, "<= 5 %", note)


if __name__ == "__main__":
    main()
