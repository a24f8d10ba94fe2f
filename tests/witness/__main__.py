"""Show that the six systems reply, edit and store as they did.

`python -m tests.witness write|compare [--system NAME]`. The replies to all probes of the pack and 300 other questions,
and after each edit of a history the digests of image and blocks and the replies to some, are in data/, a file a system.
`compare` finds texts, edits and structure equal, and numbers within TOLERANCE. Rows that are solved have other digits,
and so other digests, on other kinds of processor: write and compare on one. The data were written with `--every 5`.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from math import isclose
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from models.memory import Views
from models.system import Ask, Bundle, Reply
from models.systems import SYSTEMS
from tests.witness.asks import Sample, fit
from tests.witness.history import HISTORIES, states

FOLDER = Path(__file__).parent / "data"
TOLERANCE, NEAR_ZERO = 1e-4, 1e-6  # relative, and absolute for numbers near 0
BATCH = 32
STAGE = range(190, 222)  # probes and others that are asked again after each edit


def witness(name: str, every: int) -> dict[str, Any]:
    """Load a system, put each `every`-th question to it, and edit its memories one after the other."""
    module, _, loader = SYSTEMS[name].partition(":")
    bundle: Bundle = getattr(import_module(module), loader)(torch.device("cpu"), torch.float32)
    memories = {memory.name: memory for memory in bundle.memories}
    base = {key: memory.view(memory.base) for key, memory in memories.items()}
    asks = dict(list(enumerate(Sample().asks()))[::every])
    stage_asks = {place: ask for place, ask in asks.items() if place in STAGE}
    content: dict[str, Any] = {"base": reply(bundle, asks, base)}
    for key in sorted(memories.keys() & HISTORIES.keys()):
        memory, history = memories[key], HISTORIES[key]
        for stage, image in states(memory, history):
            about = {1000 + place: ask for place, ask in enumerate(history.asks)}
            content[f"{key}, {stage}"] = {
                "image": image.checksum,
                "blocks": {block.key: block.digest for block in image.ordered_blocks},
                "usage": trim(memory.usage(image)),
                "replies": reply(bundle, about | stage_asks, base | {key: memory.view(image)}),
            }
    result: dict[str, Any] = json.loads(json.dumps(content))
    return result


def reply(bundle: Bundle, asks: Mapping[int, Ask], views: Views) -> dict[str, Any]:
    """Return the replies by place and question."""
    fitting_asks = [fit(ask, bundle.system, views) for ask in asks.values()]
    replies: list[Reply] = []
    for start in range(0, len(fitting_asks), BATCH):
        batch = fitting_asks[start : start + BATCH]
        replies += bundle.system.answer(batch, [views] * len(batch))
    pairs = zip(asks.items(), replies, strict=True)
    return {f"{place} {ask.question}": trim(answer) for (place, ask), answer in pairs}


def trim(value: Any) -> Any:
    """Return a value as JSON without empty fields, and numbers with the digits that count."""
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: trim(part) for key, part in value.items() if part not in (None, "", (), [], {}, False)}
    if isinstance(value, list | tuple):
        return [trim(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield each place where two witnesses differ, with what both say."""
    if isinstance(old, dict) and isinstance(new, dict):
        of_questions = path == "/base" or path.endswith("/replies")  # either side may have asked only some
        keys = old.keys() & new.keys() if of_questions else old.keys() | new.keys()
        if of_questions and not keys:
            yield f"{path}: no question in common"
        for key in keys:
            yield from differences(old.get(key), new.get(key), f"{path}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from differences(first, second, f"{path}/{place}")
    elif isinstance(old, float) and isinstance(new, float | int):
        if not isclose(old, new, rel_tol=TOLERANCE, abs_tol=NEAR_ZERO):
            yield f"{path}: {old} -> {new}"
    elif old != new:
        yield f"{path}: {old!r:.200} -> {new!r:.200}"


def main() -> int:
    """Write or compare, and return 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.witness", description=__doc__)
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument(
        "--system", action="append", choices=SYSTEMS, help="one of them alone; may be repeated"
    )
    parser.add_argument("--every", type=int, default=1, help="ask one question in so many, to be quick")
    options = parser.parse_args()
    n_differences = 0
    for name in options.system or SYSTEMS:
        start, path = perf_counter(), FOLDER / f"{name}.json.gz"
        content = witness(name, options.every)
        if options.action == "write":
            FOLDER.mkdir(exist_ok=True)
            text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            path.write_bytes(gzip.compress(text.encode(), mtime=0))
        places = sorted(differences(json.loads(gzip.decompress(path.read_bytes())), content))
        print(f"{name}: {len(places)} differences, {perf_counter() - start:.0f} s", *places[:40], sep="\n  ")
        n_differences += len(places)
    return min(n_differences, 1)


if __name__ == "__main__":
    sys.exit(main())
