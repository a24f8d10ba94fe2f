"""`python -m tests.fuzz TARGET -runs=N CORPUS`: libFuzzer, through atheris, on one target. It ends this process."""

import sys

import atheris

MODULES = ["models.memory", "models.kit.checkpoint", "service.graph", "service.ledger"]

with atheris.instrument_imports(include=MODULES):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, TARGETS[name].run)
    atheris.Fuzz()


main()
