"""What a caller may be called: one check for keys that are issued or restored, and for whom an issuer names.

A name stands in the ledger for ever, in logs, in the audit and in terminals.
"""

from __future__ import annotations

import unicodedata

from service.access.caller import ADMIN, ANONYMOUS

MAX_CHARS = 260  # an issuer's subject of 255 (OpenID Connect Core 1.0, section 5.1), and a prefix
OWN_NAMES = frozenset({ADMIN.name, ANONYMOUS.name})


def find_fault(name: str) -> str | None:
    """Return why nobody may have this name, as a predicate; None for a good one."""
    if unicodedata.normalize("NFKC", name).casefold() in OWN_NAMES:
        return "is a name of the service's own"
    if not 0 < len(name) <= MAX_CHARS:
        return f"has not 1 to {MAX_CHARS} characters"
    if not name.isprintable() or name != name.strip():
        return "has characters that cannot be seen"
    return None
