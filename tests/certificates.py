"""One TLS context for all HTTP clients with the same settings.

Creating one reads the certificates of all trusted authorities, which costs more than most tests of a client.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import Any

from httpx._transports import default

PATH_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
create = default.create_ssl_context


def share() -> None:
    default.create_ssl_context = shared


def shared(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is not True or cert is not None:
        return create(verify=verify, cert=cert, trust_env=trust_env)
    return _of(trust_env, *(os.environ.get(name) for name in PATH_VARIABLES))


@cache
def _of(trust_env: bool, *paths: str | None) -> ssl.SSLContext:
    return create(trust_env=trust_env)
