"""What all tests share within a process: authorities of certificates, and adapters of HTTP clients."""

import os
import ssl
from functools import cache
from typing import Any, get_args

from fastapi._compat import v2
from httpx._transports import default
from pydantic import TypeAdapter

_adapters: dict[Any, TypeAdapter[Any]] = {}


def share_adapters() -> None:
    v2.TypeAdapter = find  # type: ignore[attr-defined,assignment]


def find(type_: Any, *, config: Any = None) -> TypeAdapter[Any]:
    """Return an adapter of an annotated type; one that is cached keeps what its key names alive."""
    kind, *limits = get_args(type_)
    try:
        hash(kind)
    except TypeError:
        return TypeAdapter(type_, config=config)
    key = (kind, repr(kind), repr(limits), repr(config))
    if key not in _adapters:
        _adapters[key] = TypeAdapter(type_, config=config)
    return _adapters[key]


PATH_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
create = default.create_ssl_context


def share_certificates() -> None:
    default.create_ssl_context = shared


def shared(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is not True or cert is not None:
        return create(verify=verify, cert=cert, trust_env=trust_env)
    return _of(trust_env, *(os.environ.get(name) for name in PATH_VARIABLES))


@cache
def _of(trust_env: bool, *paths: str | None) -> ssl.SSLContext:
    return create(trust_env=trust_env)
