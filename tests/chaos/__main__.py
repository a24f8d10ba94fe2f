"""`make chaos`: the service under load while it is harmed in every way we know; status 1 if a promise was broken."""

import argparse
import sys
import time
from pathlib import Path

from tests.chaos.faults import FAULTS, LAST
from tests.chaos.report import show, write
from tests.chaos.run import Options, run
from tests.chaos.verdict import judge

RESULTS = Path(__file__).parent / "RESULTS.md"
WIDE_RESULTS = RESULTS.with_name("RESULTS-wide.md")
MINUTES, SEED, CLIENTS, EDITORS = 5.0, 1, 64, 4
LONG_MINUTES, LONG_HOLD_S, SHORT_HOLD_S = 8.0, 30.0, 10.0


def main() -> int:
    arguments = _parse()
    options = Options(
        arguments.minutes,
        arguments.seed,
        arguments.clients,
        arguments.editors,
        arguments.out.resolve() / time.strftime("%Y%m%d-%H%M%S"),  # in the address of a socket, too
        arguments.wide,
    )
    faults = [fault for fault in FAULTS if not arguments.only or fault.name in arguments.only]
    last = [fault for fault in LAST if not arguments.only or fault.name in arguments.only]
    hold_s = LONG_HOLD_S if arguments.minutes >= LONG_MINUTES else SHORT_HOLD_S
    result = run(options, faults, last, hold_s)
    checks = judge(result)
    show(result, checks)
    results = WIDE_RESULTS if arguments.wide else RESULTS
    places = [options.out / "report.md", *([results] if _is_default(arguments) else [])]
    for place in places:
        write(place, result, checks)
    print(f"More is in {options.out}.")
    return 0 if all(check.is_kept for check in checks) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.chaos", description=__doc__)
    names = [fault.name for fault in (*FAULTS, *LAST)]
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help="until all is killed at once (default: 5)"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of everything that is left to chance")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="who ask (default: 64)")
    parser.add_argument("--editors", type=int, default=EDITORS, help="who correct (default: 4)")
    parser.add_argument(
        "--wide",
        action="store_true",
        help="reachable from outside, with keys, limits, strangers, and kbert over an imported graph",
    )
    parser.add_argument("--only", nargs="*", choices=names, help="these faults alone")
    parser.add_argument(
        "--out", type=Path, default=Path("var/chaos"), help="folder of the reports of all runs"
    )
    return parser.parse_args()


def _is_default(arguments: argparse.Namespace) -> bool:
    """Return whether this is the run of RESULTS.md."""
    load = (arguments.minutes, arguments.clients, arguments.editors)
    return load == (MINUTES, CLIENTS, EDITORS) and arguments.only is None


if __name__ == "__main__":
    sys.exit(main())
