"""Where the atomic steps are read from: one small `.lua` file each, beside this one."""

from __future__ import annotations

from pathlib import Path


def lua(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
