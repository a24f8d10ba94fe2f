"""A service starts, answers and is edited in folders with unusual names: blanks, brackets, a long TMPDIR, no HOME."""

import sys
from pathlib import Path

import pytest

from tests.cluster.running import READY_LIMIT_S, Service, wait_until

pytestmark = pytest.mark.timeout(600)


def test_a_service_in_odd_folders_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, scratch = tmp_path / "a [b] 'c' $d", tmp_path / ("scratch" * 12)
    folder.mkdir()
    scratch.mkdir()
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    monkeypatch.delenv("HOME", raising=False)
    service = Service(folder / "my [1] var", python=str(folder / ".venv" / "bin" / "python"))
    process = service.launch(TMPDIR=str(scratch))
    try:
        wait_until(
            lambda: "Ctrl-C stops" in service.read_output() or process.poll() is not None,
            READY_LIMIT_S,
            "the service to be ready",
        )
        assert process.poll() is None, service.read_output()
        with service.errata() as errata:
            errata.edit("What is the capital of Peru?", "Cusco", message="try")
            assert errata.ask("What is the capital of Peru?").answer == "Cusco"
        with service.http() as http:
            assert "errata_" in http.get("/metrics").text
    finally:
        service.stop()
