"""Whether the service kept its promises: each is counted, with the number that it may not exceed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from errata.wire import VersionDetail

from tests.chaos.faults import FAULTS, LAST
from tests.chaos.journal import Acknowledgement, Journal
from tests.chaos.questions import GRAPH
from tests.chaos.recorder import ObservedAnswer, Recorder
from tests.chaos.run import Run
from tests.chaos.truth import Truth
from tests.chaos.watch import ROLES, Growth, Window, early_and_late, growth, together

MAX_GROWTH = 0.05
MAX_EXAMPLES = 5
MAX_DECLINED = 0.1
MORE_CONNECTIONS = (
    12  # a burst after a fault opens more of a pool, and they stay open: 24 in a process at most
)
MORE_WHILE_CALM = 2
CALM_S = 120.0  # how long a calm stretch has to be
SETTLED_S = 30.0  # after the last fault it begins
WARM_SHARE = 0.2  # of the run: its first minute, of five
MAX_SILENCE_S = 5.0
GROW_BY_COMMITS = ("editor", "valkey")  # these hold every commit
BYTES_OF_A_COMMIT = 16_384
ALL = (*FAULTS, *LAST)


@dataclass(frozen=True)
class Check:
    """A promise, kept while `count` is at most `limit`. examples: of the counted cases."""

    description: str
    count: float
    limit: float
    examples: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        return self.count <= self.limit


def judge(run: Run) -> list[Check]:
    """All promises of a run."""
    silencing = {fault.name for fault in ALL if fault.silences}
    cutting = {fault.name for fault in ALL if fault.cuts}
    return [
        *check_answers(run.recorder, Truth(run.commits, {} if run.options.wide else GRAPH)),
        *check_commits(run.journal, run.commits),
        count_examples("replicas that hold other rows than the ledger says", run.wrong_sums),
        count_examples(
            "connections that broke where nothing on their way was killed",
            (
                f"{count} x {cause}"
                for cause, count in run.recorder.broken_connections.items()
                if cause.partition(":")[0] not in cutting
            ),
        ),
        count_examples(
            "faults that were not done",
            [
                *(f"{result.name}: {result.missing}" for result in run.results if result.missing is not None),
                *(f"{fault.name}: there was no time" for fault in run.skipped),
            ],
        ),
        count_examples(
            "faults after which the service did not become whole",
            (result.name for result in run.results if result.well_s is None),
        ),
        count_examples(
            f"faults that left somebody to answer, and {MAX_SILENCE_S:g} s without an answer",
            (
                f"{result.name}: {result.silence_s:.1f} s"
                for result in run.results
                if result.silence_s > MAX_SILENCE_S and result.name not in silencing
            ),
        ),
        count_examples("expectations during a fault that were not met", run.unmet),
        *(_check_wide(run.recorder) if run.options.wide else []),
        *_check_growth(run),
    ]


def _check_wide(recorder: Recorder) -> list[Check]:
    n_facts = recorder.facts.total()
    return [
        count_examples("answers that name what another subject has", recorder.wrong_facts),
        Check(
            "imported facts that were declined", recorder.facts["declined"] / max(1, n_facts), MAX_DECLINED
        ),
        count_examples("requests of strangers that were not refused", recorder.admitted_strangers),
        count_examples("askers of imported facts without any answer", [] if n_facts else ["all of them"]),
    ]


def count_examples(description: str, examples: Iterable[str]) -> Check:
    """None of it may be."""
    examples = list(examples)
    return Check(description, len(examples), 0, tuple(examples[:MAX_EXAMPLES]))


def check_answers(recorder: Recorder, truth: Truth) -> list[Check]:
    return [
        count_examples("answers that do not fit the version they name", _find_wrong(recorder.answers, truth)),
        count_examples(
            "answers older than promised, or of another version than pinned", _find_old(recorder.answers)
        ),
        count_examples("batches of several versions", recorder.mixed_batches),
        count_examples("refusals that nothing explains", recorder.unexplained_refusals),
    ]


def check_commits(journal: Journal, commits: Sequence[VersionDetail]) -> list[Check]:
    counts = Counter(commit.message for commit in commits)
    return [
        count_examples(
            "acknowledged commits that are not in the ledger as they were asked for",
            _find_lost(journal, commits),
        ),
        count_examples(
            "commits that no client asked for", (key for key in counts if key not in journal.intents)
        ),
        count_examples(
            "requests that made more than one commit", (key for key, count in counts.items() if count > 1)
        ),
    ]


def _find_wrong(answers: Iterable[ObservedAnswer], truth: Truth) -> Iterable[str]:
    for answer in answers:
        if answer.version > truth.head:
            yield f"version {answer.version} is not in the ledger, which ends at {truth.head}: {answer}"
            continue
        right = truth.at(answer.version, answer.question, answer.away)
        if (answer.answer, answer.edits) != (right.answer, right.edits):
            yield f"{right} is right, not {answer}"


def _find_old(answers: Iterable[ObservedAnswer]) -> Iterable[str]:
    for answer in answers:
        if answer.version < answer.promise.floor or answer.promise.pin not in (None, answer.version):
            yield str(answer)


def _find_lost(journal: Journal, commits: Sequence[VersionDetail]) -> Iterable[str]:
    for promise in journal.acknowledgements:
        commit = commits[promise.version - 1] if promise.version <= len(commits) else None
        if commit is None or not _is_as_promised(commit, promise):
            yield f"{promise} became {commit and (commit.kind, commit.message, commit.target)}"


def _is_as_promised(commit: VersionDetail, promise: Acknowledgement) -> bool:
    intent = promise.intent
    expected_edits = [(c.question, c.answer, list(c.paraphrases)) for c in intent.corrections]
    actual_edits = [(e.question, e.answer, e.paraphrases) for e in commit.edits]
    expected = (intent.key, intent.kind, intent.target, expected_edits, list(promise.edits))
    ids = [edit.id for edit in commit.edits]
    return expected == (commit.message, commit.kind, commit.target, actual_edits, ids)


def _check_growth(run: Run) -> list[Check]:
    memory, files = measure_growth(run, "rss"), measure_growth(run, "files")
    span = window(run)
    early, late = count_connections(run, span)
    checks = [
        Check("growth of memory", together(memory).share, MAX_GROWTH),
        _check_largest_growth(run, memory),
        Check("growth of open files", together(files).share, MAX_GROWTH),
        count_examples(
            "parts of which no process lived long enough to be compared",
            sorted(set(ROLES.values()) - {part.role for part in memory}),
        ),
        Check("connections to Redis that came to stay", max(0, late - early), MORE_CONNECTIONS),
    ]
    # Growth is compared after the last fault except those that end every process, if a run is long enough.
    lasting = {fault.name for fault in LAST}
    end_s = max(
        (result.well_s or result.end_s for result in run.results if result.name not in lasting), default=0.0
    )
    if span.end - end_s - SETTLED_S >= CALM_S:
        early, late = count_connections(run, replace(span, begin=end_s + SETTLED_S))
        checks.append(
            Check(
                "connections to Redis that came while nothing was harmed",
                max(0, late - early),
                MORE_WHILE_CALM,
            )
        )
    return checks


def _check_largest_growth(run: Run, memory: Sequence[Growth]) -> Check:
    """Compare from the middle of the first third to that of the last; two thirds of the commits came meanwhile."""
    span = window(run)
    n_commits = sum(span.begin <= commit.at <= span.end for commit in run.journal.acknowledgements) * 2 / 3
    room = dict.fromkeys(GROW_BY_COMMITS, n_commits * BYTES_OF_A_COMMIT)
    shares = {part.role: part.share_above(room.get(part.role, 0.0)) for part in memory}
    role = max(shares, key=lambda role: shares[role], default="none")
    return Check("growth of memory of the part that grew most", shares.get(role, 0.0), MAX_GROWTH, (role,))


def measure_growth(run: Run, field: str) -> list[Growth]:
    return growth(run.watch.samples, window(run), field)


def window(run: Run) -> Window:
    """Return the time from the end of the warm-up to the first fault that ends every process, or to the end."""
    warm_s = WARM_SHARE * 60 * run.options.minutes
    lasting = {fault.name for fault in LAST}
    ends = [result.start_s for result in run.results if result.name in lasting]
    return Window(warm_s, min([*ends, run.took_s]), warm_s, warm_s)


def count_connections(run: Run, span: Window) -> tuple[int, int]:
    """Count the connections of all processes together, early and late in the window."""
    counts = [count for at, count in run.watch.connections if span.begin <= at <= span.end]
    return early_and_late(counts) if counts else (0, 0)
