"""The names that callers may have.

A name stays for ever in the ledger, and appears in logs, in the audit and in terminals.
"""

from __future__ import annotations

import unicodedata

from service.access.caller import ADMIN, ANONYMOUS

# Characters of an issuer's subject, 255 (OpenID Connect Core 1.0, section 5.1), and of a prefix
MAX_NAME_CHARS = 260
OWN_NAMES = frozenset({ADMIN.name, ANONYMOUS.name})


def find_fault(name: str) -> str | None:
    """Return why a name is not allowed, as a predicate; None for a good one."""
    if unicodedata.normalize("NFKC", name).casefold() in OWN_NAMES:
        return "is a name of the service's own"
    if not 0 < len(name) <= MAX_NAME_CHARS:
        return f"has not 1 to {MAX_NAME_CHARS} characters"
    is_seen = name.isprintable() and name == name.strip()
    return None if is_seen else "has characters that cannot be seen"
