"""Where the time of a run goes: its slowest tests, and the seconds of each folder and of each fixture's set-up.

A run of fewer than LEAST_TESTS tests prints nothing of it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import PurePath
from time import perf_counter
from typing import Any

import pytest

from tests.scheduling import RECORD, find_group

LEAST_TESTS = 300
LEAST_S = 2.0  # seconds of a group that is recorded
N_SLOWEST = 40
N_FIXTURES = 25
DEPTH = 3  # parts of a folder's path that a row has


class Durations:
    """Collects durations, of all processes of a run where there are several."""

    def __init__(self) -> None:
        self.set_ups: list[tuple[str, float]] = []  # fixtures of this process that no report has yet
        self.phases: dict[str, Counter[str]] = defaultdict(Counter)  # test -> phase -> seconds
        self.fixtures = Counter[str]()
        self.n_set_ups = Counter[str]()
        self.ends: dict[str, float] = {}  # process -> when its last test ended

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Measure a fixture; those that it needs were set up before."""
        start = perf_counter()
        try:
            return (yield)
        finally:
            self.set_ups.append((fixturedef.argname, perf_counter() - start))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send the fixtures along with the report of the test that needed them first."""
        report = yield
        report.user_properties.append(("set-ups", self.set_ups))
        self.set_ups = []
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.phases[report.nodeid][report.when or ""] += report.duration
        self.ends[getattr(report, "worker_id", "this one")] = report.stop
        for name, set_ups in report.user_properties:
            if name == "set-ups":
                for fixture, seconds in set_ups:
                    self.fixtures[fixture] += seconds
                    self.n_set_ups[fixture] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.phases) >= LEAST_TESTS:
            terminalreporter.write_line("\n".join(self.lines()))
            if terminalreporter.config.getoption("--record-seconds"):
                self.write_record()

    def write_record(self) -> None:
        """Write the groups of tests that took long enough to matter for their order."""
        groups = Counter[str]()
        for test, phases in self.phases.items():
            groups[find_group(test)] += phases.total()
        seconds = {group: round(total) for group, total in groups.most_common() if total >= LEAST_S}
        RECORD.write_text(json.dumps(seconds, indent=1) + "\n", "utf-8")

    def lines(self) -> list[str]:
        """Lay the durations out: slowest tests, folders, fixtures; seconds are added over all processes."""
        slowest = sorted(self.phases.items(), key=lambda item: -item[1].total())[:N_SLOWEST]
        folders: dict[str, Counter[str]] = defaultdict(Counter)
        for test, phases in self.phases.items():
            folder = "/".join(PurePath(test.split("::")[0]).parent.parts[:DEPTH])
            folders[folder] += phases + Counter({"tests": 1})
        rows = sorted(folders.items(), key=lambda item: -_seconds(item[1]))
        total = sum(map(_seconds, folders.values()))
        return [
            f"\nslowest {N_SLOWEST} tests, with set-up and end",
            *(f"{phases.total():8.1f} s  {test}" for test, phases in slowest),
            f"\nseconds by folder ({total:,.0f} of all processes)",
            "| folder | tests | seconds | of them set-up |\n|---|---|---|---|",
            *(
                f"| {folder} | {phases['tests']:,} | {_seconds(phases):,.0f} | {phases['setup']:,.0f} |"
                for folder, phases in rows
            ),
            "\nprocesses by the seconds for which the last one went on alone",
            *(f"{max(self.ends.values()) - end:8.1f} s  {name}" for name, end in sorted(self.ends.items())),
            "\nseconds by fixture",
            *(
                f"{seconds:8.1f} s  {name} ({self.n_set_ups[name]:,} times)"
                for name, seconds in self.fixtures.most_common(N_FIXTURES)
            ),
        ]


def _seconds(phases: Counter[str]) -> float:
    return phases.total() - phases["tests"]
