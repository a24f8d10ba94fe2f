"""The types of settings, which check their texts: rates, networks, devices, and what they are by model."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from service.access.rate_limits import Rate

NO_LIMIT = "none"
ALL = "*"  # key of all models that are not names, in a setting by model
Port = Annotated[int, Field(ge=1, le=65_535)]
Count = Annotated[int, Field(ge=1, le=1_024)]
Probability = Annotated[float, Field(gt=0, le=1)]
Seconds = Annotated[float, Field(gt=0, le=600)]
ImportPath = Annotated[
    str,
    Field(
        pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*(\?[^\W\d]\w*=[^&]*(&[^\W\d]\w*=[^&]*)*)?$"
    ),
]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]+$", max_length=253), AfterValidator(str.lower)]
Origin = Annotated[
    str, Field(pattern=r"^https?://[A-Za-z0-9_.:\[\]-]+$", max_length=300), AfterValidator(str.lower)
]


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_rate(text: str) -> str:
    Rate.parse(None if text == NO_LIMIT else text)
    return text


def _check_network(text: str) -> str:
    ip_network(text)
    return text


def _check_device(name: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError(f"{name!r} is no device: give auto, cpu, cuda or cuda:N")
    return name


def _check_dtype(name: str) -> str:
    if name not in ("float32", "bfloat16"):
        raise ValueError(f"{name!r} is no dtype: give float32 or bfloat16")
    return name


def split_by_model(value: Any) -> Any:
    """Read `cuda`, or words such as `cuda` and `NAME=cuda:1`, as a mapping from model names, or ALL."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        return value
    pairs = [word.rpartition("=") if isinstance(word, str) else ("", "", word) for word in words]
    return {name or ALL: choice for name, _, choice in pairs}


RateText = Annotated[str, AfterValidator(_check_rate)]
Network = Annotated[str, AfterValidator(_check_network)]
Devices = Annotated[dict[str, Annotated[str, AfterValidator(_check_device)]], BeforeValidator(split_by_model)]
Dtypes = Annotated[dict[str, Annotated[str, AfterValidator(_check_dtype)]], BeforeValidator(split_by_model)]
