"""`python -m tests.bench.replica` prints what each part adds to the memory of a process like a replica, in MB."""

import json
from importlib import import_module

import psutil

# Each part with the module whose import adds it
PARTS = {
    "interpreter and numpy": "numpy",
    "torch": "torch",
    "ONNX Runtime": "onnxruntime",
    "Ray Serve": "ray.serve",
    "the service's code": "service.replicas.replica",
}


def pss_mb(process: psutil.Process) -> float:
    """Return the memory of a process; a page that several share is split between them."""
    return float(process.memory_full_info().pss / 2**20)


def main() -> None:
    sizes, before = dict[str, float](), 0.0
    for name, module in PARTS.items():
        import_module(module)
        after = pss_mb(psutil.Process())
        sizes[name], before = after - before, after
    load_and_ask()
    sizes["weights, tables and one answer"] = pss_mb(psutil.Process()) - before
    print(json.dumps(sizes))


def load_and_ask() -> None:
    from models.system import Ask  # late: these import torch
    from service.process_memory import trim_heap
    from tests.bench.bank import load_nkb, read_bank
    from tests.bench.questions import questions

    system, memory = load_nkb()
    system.answer([Ask(questions(1)[0])], [read_bank(memory)])
    trim_heap()


if __name__ == "__main__":
    main()
