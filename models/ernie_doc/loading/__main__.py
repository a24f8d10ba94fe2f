"""`python -m models.ernie_doc.loading SOURCE TARGET`: convert a PaddleNLP checkpoint and print a report."""

import argparse
import sys
from pathlib import Path

from models.ernie_doc.loading.paddle import convert
from models.kit.checkpoint import CheckpointError


def main() -> None:
    """Convert, and exit with 1 and a sentence if that is not possible."""
    parser = argparse.ArgumentParser(
        description="Convert a PaddleNLP checkpoint of ERNIE-Doc to safetensors."
    )
    parser.add_argument("source", type=Path, help="folder with model_config.json and model_state.pdparams")
    parser.add_argument("target", type=Path, help="folder to write")
    parser.add_argument(
        "--labels", nargs="+", default=(), help="names of a classifier's labels, in their order"
    )
    arguments = parser.parse_args()
    try:
        report = convert(arguments.source, arguments.target, arguments.labels)
    except CheckpointError as error:
        sys.exit(str(error))
    lines = [f"{len(report.applied)} tensors used"]
    lines += [f"not used: {name}" for name in report.ignored]
    lines += [f"random, for the checkpoint lacks it: {name}" for name in report.missing]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
