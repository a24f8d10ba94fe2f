"""What each method is run with, which its grid found, and what of it was trained before the first edit."""

from tests.bench.editing_methods.grids import make_lookups, make_peers

LOOKUPS, PEERS = make_lookups(), make_peers()
REFERENCE = "1,000 reference facts: C0"
TRAINED = {
    "gated": "a cross-encoder of 11 MB on some 400,000 pairs of questions, the pack's phrasings among them",
    "cosine cache": "nothing: the sentence encoder as it comes",
    "serac": "a classifier of 0.2 MB on 26,000 pairs; its counterfactual model is taken to be perfect",
    "surgery": "nothing",
    "memit": REFERENCE,
    "previous keys": REFERENCE,
    "alphaedit": REFERENCE,
    "least squares": REFERENCE,
    "decoder slots": "1,000 reference facts: keys that no gate may open for",
    "grace": "nothing",
    "fine-tuning": "nothing",
    "retraining": "1,000 reference facts: replayed",
}
