"""Plans: every number of a training stands in its plan.toml, and nowhere else."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Config = TypeVar("Config")


class Plan:
    """The numbers of a training by name; a table of the file is a plan within the plan."""

    def __init__(self, numbers: Mapping[str, Any]) -> None:
        self.numbers: dict[str, Any] = {name: _freeze(value) for name, value in numbers.items()}

    def __getattr__(self, name: str) -> Any:
        if name == "numbers" or name.startswith("__"):
            raise AttributeError(name)  # while the plan is copied
        if name not in self.numbers:
            raise AttributeError(f"the plan has no {name!r}: write it into plan.toml")
        return self.numbers[name]

    def change(self, **changes: Any) -> "Plan":
        """Return the plan with other numbers; a mapping changes some numbers of a table."""
        return Plan(
            {
                **self.numbers,
                **{
                    name: getattr(self, name).change(**value) if isinstance(value, dict) else value
                    for name, value in changes.items()
                },
            }
        )

    def make(self, kind: Callable[..., Config]) -> Config:
        """Make an object whose fields are the numbers."""
        return kind(**self.numbers)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        return {
            name: value.to_json() if isinstance(value, Plan) else value
            for name, value in self.numbers.items()
        }


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return Plan(value)
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def read_plan(folder: Path) -> Plan:
    """Read the plan.toml of a folder."""
    return Plan(tomllib.loads((folder / "plan.toml").read_text("utf-8")))
