"""One upstream: a server of OpenAI's shape whose answers the edits correct, and what its operator allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.config import Settings
from service.upstream.setting import Mode

SEPARATOR = "/"  # between an upstream's name and its model's, or a key's


@dataclass(frozen=True)
class Upstream:
    name: str
    url: str  # its address with /v1, without a slash at the end
    key: str | None = field(default=None, repr=False)
    mode: Mode = "observe"
    key_modes: Mapping[str, Mode] = field(default_factory=dict)  # modes of callers by the names of their keys
    keep_out: tuple[str, ...] = ()  # texts of system prompts in whose conversations no edit answers
    is_open: bool = False  # whether callers without a key may use it

    def find_mode(self, caller: str) -> Mode:
        """Return the mode for a caller: the narrower setting wins, and `off` wins over all."""
        return "off" if self.mode == "off" else self.key_modes.get(caller, self.mode)


def build_upstreams(settings: Settings) -> dict[str, Upstream]:
    """Return the upstreams of the settings by their names; the file of prompts is read here."""
    file = settings.upstream_keep_out
    lines = () if file is None else map(squeeze, file.read_text(encoding="utf-8").splitlines())
    keep_out = tuple(line for line in lines if line)
    return {
        name: Upstream(
            name,
            url.rstrip("/"),
            key.get_secret_value() if (key := settings.upstream_keys.get(name)) else None,
            settings.upstream_mode.get(name) or settings.upstream_mode.get("*", "observe"),
            {
                place.removeprefix(start): mode
                for start in (f"*{SEPARATOR}", name + SEPARATOR)
                for place, mode in settings.upstream_mode.items()
                if place.startswith(start)
            },
            keep_out,
            settings.upstream_open,
        )
        for name, url in settings.upstreams.items()
    }


def squeeze(text: str) -> str:
    """Return a text without spaces and capitals, as prompts are compared."""
    return "".join(text.split()).casefold()


def fold(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())
