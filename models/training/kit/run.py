"""One run of a training: its plan, the folders that it reads and writes, and its steps from where they stopped."""

from dataclasses import dataclass
from pathlib import Path

from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.progress import Progress, seconds_by_phase
from models.training.kit.steps import Steps


@dataclass(frozen=True)
class Run:
    """A run of one training."""

    plan: Plan
    pack: Path  # folder of the pack
    work: Path  # folder of progress and time spent
    out: Path  # folder of the checkpoint
    say: Say
    until: int | None = None  # step before which the run stops
    sets: Path | None = None  # folder of public questions, for a scale that is fitted on them

    def take(self, steps: Steps, fingerprint: str) -> bool:
        """Take the steps, and return whether all of the plan are taken."""
        self.work.mkdir(parents=True, exist_ok=True)
        steps.run(Progress(self.work, fingerprint), self.until)
        return self.until is None or self.until >= self.plan.steps

    @property
    def minutes(self) -> float:
        """Return the minutes of all runs of this training."""
        return sum(seconds_by_phase(self.work).values()) / 60
