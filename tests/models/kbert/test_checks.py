"""Questions about relations that no training has seen are judged in common passes, each as it is alone."""

import pytest

from models.graph.knowledge import Entity, Fact
from models.kbert.answer import CHECKS_PER_STEP
from models.kbert.system import KbertSystem
from models.kbert.unseen import UnseenCheck
from tests.models.kbert.test_bars import linked_ask
from tests.models.kbert.test_system import say

FACTS = (Fact("mascot", "mascot", "a llama"), Fact("mayor", "mayor", "Kim Lee"))


def test_questions_are_judged_together_as_alone(
    default: KbertSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    towns = [Entity(f"x:{n}", f"Town{n}", facts=FACTS) for n in range(CHECKS_PER_STEP + 1)]
    wordings = ("What is the mascot of {}?", "Who is the mayor of {}?", "What is the ferry of {}?")
    asks = [linked_ask(wordings[n % 3].format(town.label), town.label, town) for n, town in enumerate(towns)]
    alone = [say(default, ask)[0] for ask in asks]
    n_queries: list[int] = []
    read = UnseenCheck.read
    monkeypatch.setattr(
        UnseenCheck, "read", lambda self, queries: n_queries.append(len(queries)) or read(self, queries)
    )
    together = say(default, *asks)
    assert [(reply.answer, reply.reason) for reply in together] == [(r.answer, r.reason) for r in alone]
    assert [reply.score for reply in together] == pytest.approx([reply.score for reply in alone], abs=1e-4)
    assert 1 < max(n_queries) <= CHECKS_PER_STEP
    assert sum(n_queries) == len([reply for reply in alone if reply.answer == "a llama"])
