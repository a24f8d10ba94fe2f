"""The command line: what it means, and that a wrong word ends in usage and status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.config import SYSTEMS
from service.launch.arguments import parse


def test_without_words_it_is_the_default_service() -> None:
    given = parse([])
    assert (given.port, given.host, given.replicas, given.systems) == (8000, "127.0.0.1", None, SYSTEMS)
    assert given.var == Path("var").absolute()


def test_systems_replace_the_default_ones() -> None:
    assert parse(["--system", "a=m:f", "--system", "b=m.n:g"]).systems == {"a": "m:f", "b": "m.n:g"}


@pytest.mark.parametrize(
    "words", [["--port", "x"], ["--system", "nkb"], ["--system", "=m:f"], ["start"], ["--prot", "1"]]
)
def test_a_wrong_word_ends_with_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(words)
    assert end.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_help_names_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    said = capsys.readouterr().out
    assert "ERRATA_REDIS_URL" in said
    assert "ERRATA_KEY" in said
