"""A scope that an interrupted training has finished already, known by what it was trained on."""

from dataclasses import dataclass
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from models.scope.network import Scope
from models.training.progress import FINGERPRINT


@dataclass(frozen=True)
class Kept:
    """Where it lies. fingerprint: whoever has another one would come to other weights."""

    path: Path
    fingerprint: str

    def load(self) -> Scope | None:
        if not self.path.exists():
            return None
        with safe_open(self.path, "pt") as found:
            same = (found.metadata() or {}).get(FINGERPRINT) == self.fingerprint
        return Scope.from_weights(load_file(self.path)) if same else None

    def save(self, scope: Scope) -> None:
        """There whole or not at all."""
        partial = self.path.with_suffix(".partial")
        weights = {name: value.contiguous() for name, value in scope.state_dict().items()}
        save_file(weights, partial, {FINGERPRINT: self.fingerprint})
        partial.replace(self.path)
