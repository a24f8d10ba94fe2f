#!/usr/bin/env bash
# torch 2.13.0 (CPU): the device "meta", which exists to build a module quickly and without memory, loads torch's compiler.
# Most would expect `with torch.device("meta"): torch.nn.Embedding(...)` to do less than the same line on the CPU.
# Seen: on the CPU the line imports nothing; on "meta" the random numbers of its initial weights go through the Python
# decompositions, which import torch._dynamo and sympy: some 800 modules, and seconds in which nothing is computed.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "torch==2.13.0" "numpy==2.3.5"
"$folder/venv/bin/python" - <<'PY'
import sys
import time

import torch

known = set(sys.modules)
torch.nn.Embedding(9, 9)
on_cpu = set(sys.modules) - known
start = time.perf_counter()
with torch.device("meta"):
    torch.nn.Embedding(9, 9)
seconds = time.perf_counter() - start
on_meta = set(sys.modules) - known
print(f"torch {torch.__version__}: {len(on_cpu)} modules on the CPU, {len(on_meta)} on meta in {seconds:.1f} s")
assert not on_cpu, "the CPU imports something, too"
assert len(on_meta) > 100 and {"torch._dynamo", "sympy"} <= on_meta, "meta imports little"
PY
