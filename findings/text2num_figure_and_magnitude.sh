#!/usr/bin/env bash
# text2num 3.1.0, alpha2digit: a figure before a word of magnitude gains a number in place of its noughts.
# Most would expect that "15 thousand" becomes 15000, or stays as it is. Seen: "15 1000", which reads as two numbers;
# the same in words, "fifteen thousand", is 15000.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "text2num==3.1.0"
"$folder/venv/bin/python" - <<'PY'
from importlib.metadata import version

from text_to_num import alpha2digit

mixed, words = (alpha2digit(f"They sold {amount} of them.", "en") for amount in ("15 thousand", "fifteen thousand"))
print("text2num", version("text2num"), repr(mixed), repr(words))
assert mixed == "They sold 15 1000 of them.", "the figure is read with its word"
assert words == "They sold 15000 of them."
PY
