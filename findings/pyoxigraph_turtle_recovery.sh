#!/usr/bin/env bash
# pyoxigraph 0.5.13, Turtle and TriG: the iterator of `parse` goes on after the SyntaxError of a bad statement.
# Most would expect that an iterator ends when it raises, or that whoever goes on gets every statement that is good by
# itself. Seen: inside a named graph the rest of the graph is gone, and so is the good statement that stands behind the
# closing brace, while later ones come. Whoever counts errors to know what was lost counts too few.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "pyoxigraph==0.5.13"
"$folder/venv/bin/python" - <<'PY'
import pyoxigraph as ox

print("pyoxigraph", ox.__version__)
text = """@prefix ex: <http://example.org/> .
ex:g { ex:a ex:p 1 . ex:b other:p 1 . } ex:c ex:p 3 .
ex:d ex:p 4 .
"""
statements, errors = ox.parse(text, format=ox.RdfFormat.TRIG), []
subjects = []
while True:
    try:
        subjects.append(next(statements).subject.value[-1])
    except SyntaxError as error:
        errors.append(error.msg)
    except StopIteration:
        break
print("statements about", subjects, "and", len(errors), "errors:", *errors, sep="\n  ")
assert subjects == ["a", "d"], "the iterator ends, or c is there"
assert len(errors) == 2
PY
