"""The fingerprint of a training: trainings with different fingerprints come to different weights."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from models.encoder.weights import WEIGHTS_SHA256
from models.packs.files import digest, digests


def fingerprint(plan: Mapping[str, Any], pack: Path, texts: Iterable[Path] = (), **parts: Any) -> str:
    """Compute the SHA-256 of all that the weights follow from.

    Args:
        plan: The recipe.
        pack: Folder of the pack.
        texts: Other files that are trained on.
        parts: Whatever else decides; the frozen encoder always counts.
    """
    content = {
        "plan": plan,
        "pack": digests(pack),
        "texts": [digest(path) for path in sorted(texts)],
        "encoder": WEIGHTS_SHA256,
        **parts,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
