"""Systems are loaded, the memory that they take is known, and errors have their codes."""

import gc
import pickle
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from service.choice import CandidateRank, choose, repeats_words
from service.errors import ErrataError, StaleVersion
from service.loading import load_system
from service.machine_memory import count_memory
from tests.service.parts import settings


@pytest.fixture
def unfrozen_gc() -> Iterator[None]:
    """Unfreeze everything, and collect what earlier tests have left; what they left open is not this test's fault."""
    gc.unfreeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen_gc")
def test_a_loaded_system_is_spared_by_the_collector(tmp_path: Path) -> None:
    n_objects = len(gc.get_objects())
    bundle = load_system(settings("redis://127.0.0.1:1", tmp_path), "toy")
    assert bundle.system.name == "toy"
    assert gc.get_freeze_count() > 0.9 * n_objects
    assert len(gc.get_objects()) < 0.1 * n_objects


MACHINE = "MemTotal:        4000000 kB\nMemFree:          100000 kB\nSwapTotal:       1000000 kB\n"
ALL = 5_000_000 * 1024


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        pytest.param("0::/\n", {"memory.max": "2000000000\n"}, 2_000_000_000, id="v2 container"),
        pytest.param("0::/\n", {"memory.max": "max\n"}, ALL, id="v2 container without a limit"),
        pytest.param("0::/\n", {"memory.max": "99000000000\n"}, ALL, id="v2 more than there is"),
        pytest.param(
            "0::/a.slice/b\n",
            {"a.slice/b/memory.max": "max\n", "a.slice/memory.max": "3000000000\n"},
            3_000_000_000,
            id="v2 group around it",
        ),
        pytest.param(
            "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
            {"memory/memory.limit_in_bytes": "1000000000\n", "cpu,cpuacct/memory.max": "1\n"},
            1_000_000_000,
            id="v1 container",
        ),
        pytest.param(
            "4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, ALL, id="v1 without"
        ),
    ],
)
def test_a_limit_counts_where_it_is_lower(
    tmp_path: Path, membership: str, files: Mapping[str, str], expected: int
) -> None:
    (tmp_path / "machine").write_text(MACHINE)
    (tmp_path / "membership").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert count_memory(tmp_path / "machine", tmp_path / "membership", tmp_path / "groups") == expected


def standing(score: float, edited_in: int = 0, *, facts: bool = False, wording: str = "") -> CandidateRank:
    return CandidateRank(True, False, score, edited_in, ("Peru",) if facts else (), wording)


DECLINE = CandidateRank(False, False, 0.99)


@pytest.mark.parametrize(
    ("standings", "expected"),
    [
        ([standing(0.95, 200), standing(1.0, 108, facts=True)], 0),
        ([standing(0.95, 5), standing(1.0, 108, facts=True)], 1),
        ([standing(0.6, 200), standing(1.0, 108, facts=True)], 1),
        ([standing(1.0, 5), standing(0.95, 200)], 1),
        ([standing(0.4, 200), standing(0.9)], 1),
        ([standing(0.6, 200), standing(0.9)], 0),
        ([standing(0.7, 5, wording="Who rules Chile?"), standing(0.95, facts=True)], 1),
        ([standing(0.95, 5, wording="Who rules Chile?"), standing(0.96, facts=True)], 0),
        ([standing(0.7, 5, wording="Who rules PERU?"), standing(0.95, facts=True)], 0),
        ([standing(0.7, 5, wording="Who rules Chile?"), standing(0.8, facts=True)], 0),
        ([standing(0.7, 5), standing(0.95, facts=True)], 0),
        ([DECLINE, standing(0.2)], 1),
        ([CandidateRank(False, True, 1.0), DECLINE], 1),
        ([DECLINE], 0),
    ],
)
def test_the_newest_answer_to_the_question_comes_first_and_then_the_surest(
    standings: list[CandidateRank], expected: int
) -> None:
    assert choose(standings) == expected


def test_an_answer_of_words_of_the_question_repeats_it() -> None:
    assert repeats_words("Lima", "Is LIMA the capital?")
    assert not repeats_words("Lim", "Is Lima the capital?")
    assert not repeats_words("", "Is Lima the capital?")


EXPECTED = {
    "malformed_json": 400,
    "invalid_input": 422,
    "unknown_model": 404,
    "not_found": 404,
    "unauthorized": 401,
    "forbidden": 403,
    "stale_version": 409,
    "version_ahead": 503,
    "too_large": 413,
    "too_slow": 408,
    "unsupported_media_type": 415,
    "too_many": 429,
    "edit_refused": 422,
    "add_or_set": 409,
    "similar_name": 409,
    "breaks_tests": 409,
    "memory_full": 409,
    "key_taken": 409,
    "ledger_not_empty": 409,
    "nothing_to_do": 409,
    "proposal_closed": 409,
    "ambiguous": 409,
    "graph_moved": 409,
    "ledger_unavailable": 503,
    "ledger_corrupt": 503,
    "not_ready": 503,
    "crashed": 500,
    "internal": 500,
    "upstream_failed": 502,
    "upstream_slow": 504,
}


def leaves(kind: type[ErrataError] = ErrataError) -> Iterator[type[ErrataError]]:
    for child in kind.__subclasses__():
        yield from leaves(child) if child.__subclasses__() else (child,)


LEAVES = sorted(leaves(), key=lambda kind: kind.__name__)


def test_every_promised_code_has_its_status_and_nothing_else_exists() -> None:
    assert {kind.code: kind.status for kind in LEAVES} == EXPECTED
    assert len(LEAVES) == len(EXPECTED)


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_survives_the_way_between_processes(kind: type[ErrataError]) -> None:
    error = kind("what to do", replica="a", version=3)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.detail, copy.extras) == (kind, error.detail, {"replica": "a", "version": 3})


def test_a_stale_writer_learns_where_the_ledger_is() -> None:
    error = pickle.loads(pickle.dumps(StaleVersion.at(current=7, expected=4)))
    assert error.extras == {"current": 7, "expected": 4}
    assert "version 7" in str(error)
