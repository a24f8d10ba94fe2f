"""`python -m service`: the whole service in one command, for one machine, with a flag for each setting."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from models.systems import SYSTEMS
from service.config import Oidc, Settings
from service.launch.ledger import CannotStart
from service.launch.run import run

GROUPS = {
    "options": "port var host replicas systems default_model device dtype bank_slots auto_grow_bank "
    "repair_log",
    "scope of edits, and questions without an answer": "scope_opens scope_near scope_replaces gaps_days",
    "access": "anonymous_access rate_per_key rate_per_address max_concurrent key_outage_hours "
    "max_connections_per_address memory_mb allowed_hosts allowed_origins decline_as proxies tls_cert tls_key",
    "tokens of an OpenID Connect issuer, besides keys": " ".join(
        f"oidc_{name}" for name in Oidc.model_fields
    ),
    "language models behind edits": "upstreams upstream_mode upstream_key_file upstream_keep_out upstream_facts "
    "upstream_open",
    "pages for curators, and proposals": "console self_approval",
    "logs, in VAR/log/errata.log": "log_format log_level",
    "traces of OpenTelemetry, and metrics": "traces trace_sample_rate metrics_port",
    "sizes and times": "torch_threads max_batch max_queued history snapshot_every upload_disk_mb import_names "
    "version_wait_s ack_timeout_s redis_timeout_s",
}
# flags in the singular, because each use adds a value
FLAGS = {
    "systems": "--system",
    "upstreams": "--upstream",
    "proxies": "--proxy",
    "allowed_hosts": "--allowed-host",
    "allowed_origins": "--allow-origin",
}
METAVARS = {
    **{"replicas": "N|N-M", "systems": "NAME[=MODULE:LOADER]", "device": "DEVICE", "dtype": "DTYPE"},
    **{"rate_per_key": "RATE", "rate_per_address": "RATE", "proxies": "NETWORK", "traces": "URL"},
    **{"oidc_issuer": "URL", "oidc_scopes": "CLAIM", "oidc_prefix": "TEXT", "oidc_name": "CLAIM"},
    **{"oidc_jwks_host": "HOST", "allowed_origins": "ORIGIN"},
    **{"upstreams": "NAME=URL", "upstream_mode": "MODE", "upstream_key_file": "NAME=FILE"},
    **{"host": "ADDRESS", "var": "FOLDER", "port": "PORT", "metrics_port": "PORT"},
}
LISTS = {
    *("systems", "allowed_hosts", "allowed_origins", "proxies", "device", "dtype"),
    *("upstreams", "upstream_mode", "upstream_key_file"),
}
TYPE_METAVARS: Mapping[type, str] = {int: "N", float: "X", Path: "FILE", str: "NAME"}
ENVIRONMENT = """\
environment:
  ERRATA_REDIS_URL   keep the ledger in this Redis or Valkey (>= 6.2) instead of an embedded one under --var
  ERRATA_ADMIN_KEY   the admin key, instead of a generated one in VAR/admin.key
  ERRATA_UPSTREAM_KEY_NAME   the key of the upstream NAME, in capitals, other signs as _
  ERRATA_REDIS_URL_FILE, ERRATA_ADMIN_KEY_FILE   a file with the value, such as a mounted secret
"""


def parse(words: Sequence[str] | None = None) -> dict[str, Any]:
    """Parse the command line into settings by name, for `Settings` to check; host, port and var are always set.

    Unknown words end the process with the usage and status 2.
    """
    parser = argparse.ArgumentParser(
        "python -m service",
        description="Start Errata: the models, the editor, the ledger and HTTP. Ctrl-C stops all of them.",
        epilog=ENVIRONMENT,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fields = Settings.model_fields | {f"oidc_{name}": field for name, field in Oidc.model_fields.items()}
    for title, names in GROUPS.items():
        group = parser if title == "options" else parser.add_argument_group(title)
        for name in names.split():
            flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
            group.add_argument(flag, dest=name, **_describe(name, fields[name]))
    values = vars(parser.parse_args(words))
    if "replicas" in values:
        values |= values.pop("replicas")
    if "systems" in values:
        values["systems"] = dict(values["systems"])
    if oidc := {name: values.pop(f"oidc_{name}") for name in Oidc.model_fields if f"oidc_{name}" in values}:
        values["oidc"] = oidc
    usual = {name: Settings.model_fields[name].default for name in ("host", "port", "var")}
    values = usual | values
    return values | {name: value.absolute() for name, value in values.items() if isinstance(value, Path)}


def _describe(name: str, field: FieldInfo) -> dict[str, Any]:
    text = (field.description or "").replace("%", "%%")
    if isinstance(field.default, int | float | str | Path) and not isinstance(field.default, bool):
        text += f" (default: {field.default})"
    if name == "systems":
        text += f" (default: {' '.join(field.default)})"
    if field.annotation is bool:
        return {"help": text, "action": argparse.BooleanOptionalAction if field.default else "store_true"}
    kinds = list(_list_types(field.annotation))
    choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), None)
    if choices and name not in LISTS:
        return {"help": text, "choices": choices}
    kind = str if name in LISTS else next((kind for kind in (int, float, Path) if kind in kinds), str)
    options: dict[str, Any] = {"help": text, "metavar": METAVARS.get(name, TYPE_METAVARS[kind]), "type": kind}
    if name in LISTS:
        options["action"] = "append"
    return options | {"type": {"replicas": _parse_range, "systems": _parse_system}.get(name, kind)}


def _list_types(annotation: Any) -> Iterator[Any]:
    """Yield the annotation, and the parts of its unions and of `Annotated`."""
    yield annotation
    if get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _list_types(part)


def _parse_range(text: str) -> dict[str, int]:
    lowest, dash, highest = text.partition("-")
    if not lowest.isdecimal() or (dash and not highest.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form N or N-M, such as 2 or 1-4")
    return {"replicas": int(lowest)} | ({"max_replicas": int(highest)} if dash else {})


def _parse_system(text: str) -> tuple[str, str]:
    name, equals, loader = text.partition("=")
    if text in SYSTEMS:
        return text, SYSTEMS[text]
    if not (name and equals and ":" in loader):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither one of {', '.join(SYSTEMS)} nor of the form NAME=MODULE:LOADER"
        )
    return name, loader


def main() -> int:
    arguments = parse()
    # The service turns file descriptors 1 and 2 into its log; these copies stay with the person who started it.
    with os.fdopen(os.dup(1), "w") as output, os.fdopen(os.dup(2), "w") as errors:
        try:
            run(arguments, lambda text: print(text, file=output, flush=True), output.isatty())
        except CannotStart as error:
            print(f"Errata cannot start: {error}", file=errors)
            return 1
        except Exception as error:
            logging.getLogger(__name__).exception("unexpected error")
            log = arguments["var"] / "log"
            print(f"Errata has failed ({type(error).__name__}: {error}): see {log}", file=errors)
            return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # everything has stopped; Ray's exit handlers crash where one of its threads hangs
