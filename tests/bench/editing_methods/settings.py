"""What each peer is run with: chosen once, on the tuning facts (`python -m tests.bench.editing_methods.tune`)."""

from models.editors.alphaedit import AlphaEdit
from models.editors.codebook import Grace
from models.editors.decoder_slots import DecoderSlots
from models.editors.fine_tuning import FineTuning
from models.editors.least_squares import LeastSquares
from models.editors.memit import Memit
from models.editors.method import Method

CHOSEN: tuple[Method, ...] = (
    Memit("memit", weight=300, remember=False),
    Memit("previous keys", weight=100, remember=True),
    AlphaEdit(theta=0.1, ridge=1),
    LeastSquares(lam=300),
    DecoderSlots(tau_min=0.7, q=0.2),
    Grace(radius=14),
    FineTuning(rate=1e-3, steps=20),
)
