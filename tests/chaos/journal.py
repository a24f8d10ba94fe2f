"""What the editors wanted and what they were promised, on disk before they go on: the service is held to it.

One JSON object a line in `journal.jsonl`: {"intent": KEY, ...} before a request is sent for the first time,
{"acknowledged": KEY, "version": N, ...} when it was. The key is the commit's Idempotency-Key and its message, so
that a commit in the ledger can be traced to the editor that asked for it.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4


@dataclass(frozen=True)
class Correction:
    question: str
    answer: str
    paraphrases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Intent:
    """One commit that an editor asks for. target: the version to revert or to roll back to."""

    kind: Literal["edit", "revert", "rollback"]
    corrections: tuple[Correction, ...] = ()
    method: Literal["gated", "surgery"] = "gated"
    target: int | None = None
    key: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class Acknowledgement:
    """An acknowledgement. version: named by the service. everywhere: every replica has it. at: seconds of the load."""

    intent: Intent
    version: int
    everywhere: bool
    edits: tuple[str, ...]
    at: float


class Journal:
    """Shared by all editors, in whatever thread. head, everywhere: the newest version of each kind; 0 for none."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._lock = threading.Lock()
        self.intents: dict[str, Intent] = {}
        self.acknowledgements: list[Acknowledgement] = []
        self.head, self.everywhere = 0, 0

    def begin(self, intent: Intent) -> None:
        with self._lock:
            self.intents[intent.key] = intent
            self._write({"intent": intent.key, **asdict(intent)})

    def acknowledge(
        self, intent: Intent, version: int, everywhere: bool, edits: Sequence[str], at: float
    ) -> None:
        with self._lock:
            self._write(
                {
                    "acknowledged": intent.key,
                    "version": version,
                    "everywhere": everywhere,
                    "edits": list(edits),
                }
            )
            self.acknowledgements.append(Acknowledgement(intent, version, everywhere, tuple(edits), at))
            self.head = max(self.head, version)
            self.everywhere = max(self.everywhere, version if everywhere else 0)

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
