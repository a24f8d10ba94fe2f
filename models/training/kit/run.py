"""One run of a training: its plan, the folders that it reads and writes, and its steps from where they stopped."""

from argparse import Namespace
from dataclasses import dataclass, field
from pathlib import Path

from models.training.kit.command import Say
from models.training.kit.plan import Plan
from models.training.kit.progress import SECONDS, Progress, seconds_by_phase
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
    sets: Path | None = None  # folder of public questions that cannot be shipped
    options: Namespace = field(default_factory=Namespace)  # options that one training alone has

    def take(self, steps: Steps, fingerprint: str) -> bool:
        """Take the steps, and return whether all of the plan are taken."""
        self.work.mkdir(parents=True, exist_ok=True)
        steps.run(Progress(self.work, fingerprint), self.until)
        return self.until is None or self.until >= steps.schedule.steps

    def editing_sets(self, training: str) -> Path:
        """Return the folder of `sets`, without which this training says where they are found, and exits."""
        if self.sets is None:
            readme = f"models/training/{training}/README.md"
            raise SystemExit(f"give --sets: {readme} says which files, and where they are found")
        return self.sets

    @property
    def minutes(self) -> float:
        """Return the minutes of all runs of this training."""
        folders = (path.parent for path in self.work.rglob(SECONDS))
        return sum(sum(seconds_by_phase(folder).values()) for folder in folders) / 60
