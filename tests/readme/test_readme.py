"""Every command of README.md and clients/README.md does what the page says, in a service that `make serve` starts.

The commands of a page run in their order in one folder, as a reader would type them. A line of output is compared with
the page word by word: `...` stands for anything, a time or a date for any other, and a decimal number or a percentage
for one that rounds nearby, since processors differ in the last bits.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.running import ROOT, quiet_port, wait_until

READY_S = 400.0  # seconds on a machine with other work, after which the service is not started any more
PAGES = ("README.md", "clients/README.md")
NUMBER = re.compile(r"\d+\.\d+|\d+(?= %)")
ANY = re.compile(r"\d+(?:\.\d+)? m?s\b|20\d\d-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?")
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
FILE_LINES = "<<'END'"  # begins lines of a file, which end with END
TOLERANCES = {True: 0.03, False: 2.0}  # of a decimal number, and of a percentage

pytestmark = pytest.mark.timeout(1200)


@dataclass(frozen=True)
class Command:
    """A command of a page."""

    place: str  # file and line
    text: str  # what the shell, or Python, gets
    is_python: bool  # whether it is a program
    lines: tuple[str, ...]  # what it prints, by the page


def read_commands(page: str) -> list[Command]:
    """Return the commands of a page in their order; a block without any is a drawing."""
    text = (ROOT / page).read_text("utf-8")
    commands = []
    for block in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start()) + 2
        if block[1] in ("python", "py"):
            commands.append(Command(f"{page}:{line}", block[2], True, ()))
            continue
        for part in COMMAND.finditer(block[2]):
            words, output = part[1], part[2]
            if words.endswith(FILE_LINES):
                lines, _, output = output.partition("END\n")
                words += f"\n{lines}END"
            place = line + block[2].count("\n", 0, part.start())
            expected = tuple(line.rstrip() for line in output.splitlines() if line.strip())
            commands.append(Command(f"{page}:{place}", words, False, expected))
    return commands


def find_difference(expected: tuple[str, ...], output: str) -> str | None:
    """Return the first line of a page that the output lacks, or None; each is searched after the one before it.

    Lines that follow each other on the page follow each other in the output, unless `...` stands between them.
    """
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    place, is_free = 0, False
    for line in expected:
        if line == "...":
            is_free = True
            continue
        candidates = range(place, len(lines)) if is_free else range(place, min(place + 1, len(lines)))
        match = next((number for number in candidates if is_same(line, lines[number])), None)
        if match is None:
            return line
        place, is_free = match + 1, False
    return None


def is_same(expected: str, actual: str) -> bool:
    """Return whether a line is that of the page."""
    expected, actual = (" ".join(ANY.sub("<time>", line).split()) for line in (expected, actual))
    words = NUMBER.sub("<number>", expected)
    pattern = re.escape(words).replace(re.escape("..."), ".*").replace("<number>", r"(\d+\.\d+|\d+)")
    match = re.fullmatch(pattern, actual)
    if match is None:
        return False
    return all(
        abs(float(number) - float(other)) <= TOLERANCES["." in number]
        for number, other in zip(NUMBER.findall(expected), match.groups(), strict=True)
    )


class Reader:
    """A newcomer's folder, beside a service that runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, quiet_port()
        self.log = folder / "service.log"
        (folder / ".venv").symlink_to(ROOT / ".venv")
        with self.log.open("w") as log:
            words = ["make", "serve", f"PORT={self.port}", f"VAR={folder / 'var'}"]
            self.process = subprocess.Popen(
                words, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait(self) -> None:
        wait_until(lambda: "Ctrl-C stops" in self.log.read_text(), READY_S, "the service to be ready")

    def run(self, command: Command) -> subprocess.CompletedProcess[str]:
        url = f"127.0.0.1:{self.port}"
        text = command.text.replace("127.0.0.1:8000", url)
        if command.is_python:
            key = (self.folder / "var" / "admin.key").read_text().strip()
            words = [
                sys.executable,
                "-c",
                f"key, pairs = {key!r}, [('Who wrote Dracula?', 'Bram Stoker')]\n{text}",
            ]
        else:
            words = ["bash", "-c", text]
        environment = {
            "HOME": os.environ.get("HOME", "/"),
            "LANG": "C.UTF-8",
            "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
            "ERRATA_URL": f"http://{url}",
            "COLUMNS": "130",
        }
        return subprocess.run(
            words,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
            check=False,
        )

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(60)


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    try:
        reader.wait()
        yield reader
    finally:
        reader.stop()


def test_every_command_does_what_the_page_says(page: str, reader: Reader) -> None:
    faults = []
    for command in read_commands(page):
        process = reader.run(command)
        difference = find_difference(command.lines, process.stdout)
        if process.returncode or difference is not None:
            lack = f"the line {difference!r} is missing" if difference is not None else ""
            status = f"exit status {process.returncode}" if process.returncode else ""
            faults.append(
                f"{command.place}: {command.text}\n  {status} {lack}\n  it printed:\n{process.stdout}"
            )
    log = reader.log.read_text()
    assert not faults, "\n\n".join(faults)
    assert not re.search(r"died|SIGSEGV|Segmentation fault|Traceback", log), log


def test_a_difference_is_found() -> None:
    page = ("Version 3: 1 fact.", "...", "  ✓  0.93  97 % sure · 14 ms", "made 2026-11-22 03:12:03")
    output = "Version 3: 1 fact.\n\nmore\n ✓ 0.95   96 % sure · 8.1 ms\nmade 2027-01-02 23:12:03\n"
    assert find_difference(page, output) is None
    assert find_difference(page, output.replace("0.95", "0.85")) == page[2]
    assert find_difference(page, output.replace("3: 1 fact", "4: 1 fact")) == page[0]
    assert find_difference(("Version 3: 1 fact.", "made ..."), output) == "made ...", "nothing was left out"
