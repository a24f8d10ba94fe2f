"""The state from which an interrupted training continues.

It consists of weights and optimizer after the last epoch, tensors of finished phases, and the seconds of each phase
in all runs. The fingerprint of the training stands beside the weights, so that no other training reads them.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

FINGERPRINT = "fingerprint"  # name in the metadata of the file
SECONDS = "spent.json"


@dataclass(frozen=True)
class Progress:
    """The state of a training in the work folder."""

    folder: Path
    fingerprint: str

    @property
    def path(self) -> Path:
        return self.folder / "progress.safetensors"

    def keep(self, model: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:
        """Write the state after `epoch` epochs."""
        weights = {f"m.{name}": value.clone() for name, value in model.state_dict().items()}
        moments = {
            f"o.{index}.{name}": value
            for index, state in optimizer.state_dict()["state"].items()
            for name, value in state.items()
        }
        _save(self.path, self.fingerprint, {**weights, **moments, "epoch": torch.tensor(epoch)})

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Restore the state that `keep` wrote, and return the number of finished epochs.

        Raises:
            ValueError: Another training wrote it.
        """
        if not self.path.exists():
            return 0
        if _read_fingerprint(self.path) != self.fingerprint:
            raise ValueError(f"{self.folder} holds progress of another plan or pack: delete it and run again")
        tensors = load_file(self.path)
        model.load_state_dict({k[2:]: v for k, v in tensors.items() if k.startswith("m.")})
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("o."):
                index, name = key[2:].split(".")
                state.setdefault(int(index), {})[name] = value
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        return int(tensors["epoch"])


def load_or_compute(
    path: Path, fingerprint: str, phase: str, compute: Callable[[], Mapping[str, Tensor]]
) -> Mapping[str, Tensor]:
    """Load the tensors that a finished phase of this training left, or compute and save them, and count the seconds."""
    if path.exists() and _read_fingerprint(path) == fingerprint:
        return dict(load_file(path))
    start = time.monotonic()
    tensors = {name: value.detach().contiguous() for name, value in compute().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    _save(path, fingerprint, tensors)
    add_seconds(path.parent, phase, time.monotonic() - start)
    return tensors


def _save(path: Path, fingerprint: str, tensors: dict[str, Tensor]) -> None:
    """Write a file atomically."""
    partial = path.with_suffix(".partial")
    save_file(tensors, partial, {FINGERPRINT: fingerprint})
    partial.replace(path)


def _read_fingerprint(path: Path) -> str | None:
    with safe_open(path, "pt") as file:
        return (file.metadata() or {}).get(FINGERPRINT)


def add_seconds(folder: Path, phase: str, seconds: float) -> None:
    """Count seconds of a phase, so that a resumed training still knows its whole cost."""
    phases = seconds_by_phase(folder)
    phases[phase] = phases.get(phase, 0.0) + seconds
    (folder / SECONDS).write_text(json.dumps(phases) + "\n")


def seconds_by_phase(folder: Path) -> dict[str, float]:
    path = folder / SECONDS
    return dict(json.loads(path.read_text())) if path.exists() else {}
