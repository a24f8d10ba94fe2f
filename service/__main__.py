"""`python -m service`: the whole service in one command, for one machine."""

from __future__ import annotations

import logging
import os
import sys

from service.launch.arguments import parse
from service.launch.exits import CannotStart
from service.launch.run import run


def main() -> int:
    arguments = parse()
    # Once it runs, file descriptors 1 and 2 are the log; the person keeps these.
    with os.fdopen(os.dup(1), "w") as output, os.fdopen(os.dup(2), "w") as errors:
        try:
            run(arguments, lambda text: print(text, file=output, flush=True), output.isatty())
        except CannotStart as error:
            print(f"Errata cannot start: {error}", file=errors)
            return 1
        except Exception as error:
            logging.getLogger(__name__).exception("an error that nobody foresaw")
            log = arguments["var"] / "log"
            print(f"Errata has failed ({type(error).__name__}: {error}): {log} says more", file=errors)
            return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # all is stopped; what Ray does at exit ends in a crash where a thread of it hangs
