"""The calls of the service, written once: each method describes one checked request.

`Errata` and `AsyncErrata` take their methods from here and only add the sending.
"""

from errata.calls.access import AccessCalls
from errata.calls.answers import AnswerCalls
from errata.calls.documents import DocumentCalls
from errata.calls.edits import EditCalls
from errata.calls.gaps import GapCalls
from errata.calls.graph import GraphCalls
from errata.calls.history import HistoryCalls
from errata.calls.proposals import ProposalCalls
from errata.calls.senses import SenseCalls
from errata.calls.service import ServiceCalls

__all__ = ["Calls"]


class Calls(
    AnswerCalls,
    EditCalls,
    GraphCalls,
    DocumentCalls,
    HistoryCalls,
    GapCalls,
    ProposalCalls,
    SenseCalls,
    AccessCalls,
    ServiceCalls,
):
    """Describes requests, and remembers the newest written version, so that later questions can wait for it."""
