"""The fingerprint of a training: trainings with different fingerprints come to different weights."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from tokenizers import Tokenizer

from models.encoder.weights import WEIGHTS_SHA256
from models.packs.files import digest, digests
from models.training.phrasings import FOLDER as PHRASINGS
from models.training.plan import Plan

# Fields of the plan that the resumed phase depends on
BASE = ("seed", "threads", "vocab", "n_injected", "n_unreplayed", "wordings", "backbone", "base")


def fingerprint(plan: Plan, pack: Path, tokenizer: Tokenizer) -> str:
    """Compute the SHA-256 of the base phase's plan, pack, phrasings, answer tokenizer and frozen encoder."""
    parts = {
        "plan": {name: value for name, value in asdict(plan).items() if name in BASE},
        "pack": digests(pack),
        "phrasings": [digest(path) for path in sorted(PHRASINGS.glob("*.jsonl"))],
        "tokenizer": hashlib.sha256(tokenizer.to_str().encode()).hexdigest(),
        "encoder": WEIGHTS_SHA256,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
