"""By what this training is known: whoever has another fingerprint would come to other weights."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from models.encoder.weights import WEIGHTS_SHA256
from models.packs.files import digests
from models.training.kbert.plan import Plan
from models.training.kbert.relations import HERE

TABLES = ("practice.toml", "labels.toml")


def fingerprint(plan: Plan, pack: Path) -> str:
    """SHA-256 of the plan, the files of the pack, the practice relations and the frozen encoder."""
    parts = {
        "plan": asdict(plan),
        "pack": digests(pack),
        "tables": [hashlib.sha256((HERE / name).read_bytes()).hexdigest() for name in TABLES],
        "encoder": WEIGHTS_SHA256,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
