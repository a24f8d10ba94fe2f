"""One line a record, as text or as JSON, with the id of its request."""

import io
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from service import logs


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    root, own_logger = logging.getLogger(), logging.getLogger(logs.ROOT)
    before = (root.handlers[:], root.level, own_logger.level)
    yield
    for handler in root.handlers:
        if handler not in before[0]:
            handler.close()
    root.handlers[:], root.level = before[0], before[1]
    own_logger.setLevel(before[2])


def log_lines(
    monkeypatch: pytest.MonkeyPatch, file: Path, format: logs.Format, level: logs.Level
) -> list[str]:
    """Return the lines in the file after a few messages."""
    for name, value in logs.environment(format, level, str(file)).items():
        monkeypatch.setenv(name, value)
    logs.configure()
    log, library = logging.getLogger("service.somewhere"), logging.getLogger("a.library")
    token = logs.request_id.set("abc-123")
    log.info("%s was %s", "it", "done", extra={"status": 200})
    logs.request_id.reset(token)
    library.info("chatter")
    library.warning("a library complains")
    try:
        raise KeyError("x")
    except KeyError:
        log.exception("it\nfailed")
    return file.read_text().splitlines()


def test_as_json_a_record_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in log_lines(monkeypatch, tmp_path / "log", "json", "info")]
    assert len(lines) == 3
    assert lines[0] | {"time": "", "process": 0} == {
        "time": "",
        "level": "INFO",
        "logger": "service.somewhere",
        "process": 0,
        "request": "abc-123",
        "trace": "",
        "message": "it was done",
        "status": 200,
    }
    assert lines[2]["message"] == "it\nfailed"
    assert "KeyError" in lines[2]["exc_info"]


def test_by_default_only_problems_are_logged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = log_lines(monkeypatch, tmp_path / "log", "console", "warning")
    assert "it was done" not in "".join(lines)
    assert "a library complains" in lines[0]


def test_a_log_that_cannot_be_written_harms_no_work_and_goes_on_when_it_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "log"
    for name in ("moved", "moved again"):  # at the start, and after the folder was moved away
        with pytest.raises(FileNotFoundError):  # of the reader
            log_lines(monkeypatch, folder / "errata.log", "console", "warning")
        folder.mkdir()
        logging.getLogger(logs.ROOT).warning("there is room")
        assert "there is room" in (folder / "errata.log").read_text()
        folder.rename(tmp_path / name)


def test_a_day_of_warnings_costs_less_than_five_megabytes_and_none_goes_uncounted() -> None:
    now, stream = 0.0, io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(logs.RepeatFilter(lambda: now))
    logger = logging.Logger("service.http.middleware.edge")
    logger.addHandler(handler)
    for _ in range(24 * 60):
        for _ in range(100):
            logger.warning("%s %s %d", "GET", "/admin/versions" + "x" * 100, 503)
        now += 60.0
    lines = stream.getvalue().splitlines()
    assert len(stream.getvalue()) < 2_000_000
    n_dropped = sum(int(count) for count in re.findall(r"\(and (\d+) more like it\)", stream.getvalue()))
    assert len(lines) + n_dropped == 24 * 60 * 100 - (100 - logs.REPEATS), "but for those of the last minute"


def test_other_places_other_callers_and_what_has_to_be_there_are_not_held_back() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(logs.RepeatFilter())
    logger = logging.Logger("service")
    logger.addHandler(handler)
    for number in range(50):
        logger.warning("noise", extra={"caller": ""})
        logger.warning("served %d", number, extra={"caller": f"caller{number}"})
        logger.info("asked %d", number)
        logger.error("lost %d", number, extra=logs.WITHOUT_LIMIT)
    logger.error("once")
    words = Counter(line.split()[0] for line in stream.getvalue().splitlines())
    assert words == {"noise": logs.REPEATS, "served": 50, "asked": 50, "lost": 50, "once": 1}
