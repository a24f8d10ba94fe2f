"""The atomic steps: one small script each, with a legend of its KEYS and ARGV."""

from __future__ import annotations

from pathlib import Path


def load_script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
