"""Shares of paraphrases and of near questions that a curator is warned of who gives them as other wordings of an edit.

    python -m tests.models.scope.measure_warnings FILE

The file has groups of the editing sets: `wording`, `same` and `near`.
"""

import json
import sys
from pathlib import Path

from models.nkb.reader import Reader
from models.scope.warnings import wording_warnings


def main(file: str) -> None:
    reader = Reader.load()
    counts = {"same": [0, 0], "near": [0, 0]}
    for group in map(json.loads, Path(file).read_text().splitlines()):
        for kind, texts in (("same", group["same"]), ("near", [near["question"] for near in group["near"]])):
            wordings = [group["wording"], *texts]
            warnings = list(wording_warnings(reader.scope, wordings, reader.read(wordings).readings))
            counts[kind][0] += sum("judged another question" in warning for warning in warnings)
            counts[kind][1] += len(texts)
    for kind, (count, total) in counts.items():
        print(f"{kind}: warned of {count} of {total} ({100 * count / total:.1f} %)")


if __name__ == "__main__":
    main(sys.argv[1])
