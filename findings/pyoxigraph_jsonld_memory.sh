#!/usr/bin/env bash
# pyoxigraph 0.5.13: `parse` takes a file object and returns an iterator, for Turtle with a megabyte of memory.
# Most would expect the same of JSON-LD whose context stands first. Seen: RdfFormat.JSON_LD holds the whole file, at more
# than fifteen times its size, before the first statement; RdfFormat.STREAMING_JSON_LD reads the same bytes with next to
# none.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "pyoxigraph==0.5.13"
for syntax in JSON_LD STREAMING_JSON_LD; do
"$folder/venv/bin/python" - $syntax <<'PY'
import io
import resource
import sys

import pyoxigraph as ox

nodes = ",".join(f'{{"@id":"ex:a{n}","ex:p":"value {n}","ex:q":{{"@id":"ex:b{n}"}}}}' for n in range(100_000))
data = f'{{"@context":{{"ex":"http://example.org/"}},"@graph":[{nodes}]}}'.encode()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n_statements = sum(1 for _ in ox.parse(io.BytesIO(data), format=getattr(ox.RdfFormat, sys.argv[1])))
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(f"pyoxigraph {ox.__version__} {sys.argv[1]}: {n_statements} statements of {len(data):,} bytes, {grown:,} bytes of memory")
assert n_statements == 200_000
if sys.argv[1] == "JSON_LD":
    assert grown > 10 * len(data), "JSON-LD is read as a stream now"
else:
    assert grown < 2 * len(data)
PY
done
