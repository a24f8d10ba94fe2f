"""The model's answers after a stage, and everything else that the model card reports."""

from dataclasses import dataclass

from models.confidence import Confidence
from models.packs.pack import Pack
from models.training.calibrate import GradedAnswer
from models.training.edits import EditFigures
from models.training.material import Material
from models.training.measure import Outcome
from models.training.plan import Plan


@dataclass(frozen=True)
class StageOutcomes:
    """Outcomes of one stage: base or injected facts, by trained, tuning or held phrasings; and names the pack lacks."""

    base_trained: list[Outcome]
    base_tuning: list[Outcome]
    base_held: list[Outcome]
    injected_trained: list[Outcome]
    injected_tuning: list[Outcome]
    injected_held: list[Outcome]
    strangers_tune: list[Outcome]
    strangers_test: list[Outcome]

    def tuning(self) -> list[GradedAnswer]:
        """Return the grades on which confidence is fitted: one tuning phrasing of each fact."""
        return [outcome.grade for outcome in self.base_tuning + self.injected_tuning]

    def testing(self) -> list[GradedAnswer]:
        """Return the grades on which confidence is measured: one held phrasing of each fact."""
        return [outcome.grade for outcome in self.base_held + self.injected_held]


@dataclass(frozen=True)
class Report:
    """Everything that the card reports; `before` is without a bank, `empty` with a new one, `after` the injection."""

    plan: Plan
    pack: Pack
    material: Material
    before: StageOutcomes
    empty: StageOutcomes
    after: StageOutcomes
    confidence: Confidence
    edits: dict[str, EditFigures]
    seconds: float
