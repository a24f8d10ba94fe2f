"""What can be said on the command line about who may call, how often and over which line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from service.config import PER_ADDRESS, PER_KEY

PLAIN = (
    "anonymous_access",
    "rate_per_key",
    "rate_per_address",
    "max_concurrent",
    "tls_cert",
    "tls_key",
)
OIDC = ("issuer", "audience", "scopes", "prefix", "name")


def add(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("access")
    group.add_argument(
        "--anonymous-access",
        choices=("loopback", "everyone", "none"),
        help="who may ask without a key: those on this machine while nobody else can connect (loopback, the default), "
        "everyone, or nobody (none)",
    )
    group.add_argument(
        "--rate-per-key",
        metavar="RATE",
        help=f"calls of one key, e.g. 600/minute, or none (default: {PER_KEY} unless --host is this machine's alone)",
    )
    group.add_argument(
        "--rate-per-address",
        metavar="RATE",
        help=f"calls of one address without a key, or with a wrong one (default: {PER_ADDRESS}, as above)",
    )
    group.add_argument(
        "--max-concurrent",
        type=int,
        metavar="N",
        help="calls of one caller under way (default: any number)",
    )
    group.add_argument(
        "--proxy",
        action="append",
        dest="proxies",
        metavar="NETWORK",
        help="believe the X-Forwarded-For of a proxy in this network, e.g. 10.0.0.0/8; may be repeated",
    )
    group.add_argument(
        "--tls-cert", type=_absolute, metavar="FILE", help="PEM file of the certificate and its chain"
    )
    group.add_argument("--tls-key", type=_absolute, metavar="FILE", help="PEM file of the certificate's key")
    _add_oidc(parser)


def _add_oidc(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("tokens of an OpenID Connect issuer, besides keys")
    group.add_argument("--oidc-issuer", metavar="URL", help="whose tokens are good here")
    group.add_argument("--oidc-audience", metavar="NAME", help="what a token has to name as its audience")
    group.add_argument("--oidc-scopes", metavar="CLAIM", help="claim with the scopes (default: scope)")
    group.add_argument(
        "--oidc-prefix",
        metavar="TEXT",
        help="how ours begin in that claim, as in errata:ask (default: errata:)",
    )
    group.add_argument("--oidc-name", metavar="CLAIM", help="claim that names the author (default: sub)")


def chosen(given: argparse.Namespace) -> dict[str, Any]:
    """By their names in the settings; what was not said is left out."""
    plain = {name: getattr(given, name) for name in PLAIN}
    oidc = {name: getattr(given, f"oidc_{name}") for name in OIDC}
    said = {name: value for name, value in plain.items() if value is not None}
    if given.proxies:
        said["proxies"] = tuple(given.proxies)
    told = {name: value for name, value in oidc.items() if value is not None}
    return said | ({"oidc": told} if told else {})


def _absolute(text: str) -> Path:
    """Whoever reads it may be at work in another folder."""
    return Path(text).absolute()
