"""What each method is run with, what of it was trained before the first edit, and the methods of an earlier time."""

from tests.bench.editing_methods.methods.nearest import CosineCache, Serac

LOOKUPS = (CosineCache(0.75), Serac(0.3))
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
}
COLUMNS = tuple(
    TRAINED
)  # methods of the table; those of an earlier time have cells, and their code is at 7d3e87d8
