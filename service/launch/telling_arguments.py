"""What can be said on the command line about what the service tells of itself: logs and traces."""

from __future__ import annotations

import argparse
from typing import Any

NAMES = ("log_format", "log_level", "traces", "trace_sample_rate")


def add(parser: argparse.ArgumentParser) -> None:
    logs = parser.add_argument_group("logs, in VAR/log/errata.log")
    logs.add_argument("--log-format", choices=("console", "json"), help="a line each (default: console)")
    logs.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help="info has a line for every request (default: warning)",
    )
    traces = parser.add_argument_group("traces of OpenTelemetry")
    traces.add_argument(
        "--traces", metavar="URL", help="send them to this collector (OTLP/HTTP), e.g. http://127.0.0.1:4318"
    )
    traces.add_argument(
        "--trace-sample-rate",
        type=float,
        metavar="SHARE",
        help="of the requests whose sender does not say whether they are traced (default: 1, all)",
    )


def chosen(given: argparse.Namespace) -> dict[str, Any]:
    """By their names in the settings; what was not said is left out."""
    said = {name: getattr(given, name) for name in NAMES}
    return {name: value for name, value in said.items() if value is not None}
