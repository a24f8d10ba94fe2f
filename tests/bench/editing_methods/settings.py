"""The settings of each peer, chosen once on the tuning facts (`python -m tests.bench.editing_methods.tune`)."""

from tests.bench.editing_methods.methods.alphaedit import AlphaEdit
from tests.bench.editing_methods.methods.codebook import Grace
from tests.bench.editing_methods.methods.decoder_slots import DecoderSlots
from tests.bench.editing_methods.methods.fine_tuning import FineTuning
from tests.bench.editing_methods.methods.least_squares import LeastSquares
from tests.bench.editing_methods.methods.memit import Memit
from tests.bench.editing_methods.methods.method import Method

PEERS: tuple[Method, ...] = (
    Memit("memit", weight=300, remember=False),
    Memit("previous keys", weight=100, remember=True),
    AlphaEdit(theta=0.1, ridge=1),
    LeastSquares(lam=300),
    DecoderSlots(tau_min=0.7, q=0.2),
    Grace(radius=14),
    FineTuning(rate=1e-3, steps=20),
)
