"""`python -m service`: the whole service in one command, for one machine."""

from __future__ import annotations

import logging
import os
import sys

from service.launch.arguments import parse
from service.launch.ledger import CannotStart
from service.launch.run import run


def main() -> int:
    arguments = parse()
    # The service turns file descriptors 1 and 2 into its log; these copies stay with the person who started it.
    with os.fdopen(os.dup(1), "w") as output, os.fdopen(os.dup(2), "w") as errors:
        try:
            run(arguments, lambda text: print(text, file=output, flush=True), output.isatty())
        except CannotStart as error:
            print(f"Errata cannot start: {error}", file=errors)
            return 1
        except Exception as error:
            logging.getLogger(__name__).exception("unexpected error")
            log = arguments["var"] / "log"
            print(f"Errata has failed ({type(error).__name__}: {error}): see {log}", file=errors)
            return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # everything has stopped; Ray's exit handlers crash where one of its threads hangs
