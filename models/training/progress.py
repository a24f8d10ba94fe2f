"""What an interrupted training continues from: weights and optimizer after the last finished epoch.

The fingerprint of the training stands beside them, so that no other one takes them for its own.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

FINGERPRINT = "fingerprint"  # its name in the metadata of the file


@dataclass(frozen=True)
class Progress:
    """A training's place in the work folder."""

    folder: Path
    fingerprint: str

    @property
    def path(self) -> Path:
        return self.folder / "progress.safetensors"

    def keep(self, model: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:
        """epoch: how many are done."""
        weights = {f"m.{name}": value.clone() for name, value in model.state_dict().items()}
        moments = {
            f"o.{index}.{name}": value
            for index, state in optimizer.state_dict()["state"].items()
            for name, value in state.items()
        }
        partial = self.folder / "progress.partial"
        save_file(
            {**weights, **moments, "epoch": torch.tensor(epoch)}, partial, {FINGERPRINT: self.fingerprint}
        )
        partial.replace(self.path)

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Put back what `keep` wrote. Returns the epochs already done. ValueError when another training wrote it."""
        if not self.path.exists():
            return 0
        self._check()
        saved = load_file(self.path)
        model.load_state_dict({k[2:]: v for k, v in saved.items() if k.startswith("m.")})
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in saved.items():
            if key.startswith("o."):
                index, name = key[2:].split(".")
                state.setdefault(int(index), {})[name] = value
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        return int(saved["epoch"])

    def _check(self) -> None:
        with safe_open(self.path, "pt") as saved:
            found = (saved.metadata() or {}).get(FINGERPRINT)
        if found != self.fingerprint:
            raise ValueError(f"{self.folder} holds progress of another plan or pack: delete it and run again")
