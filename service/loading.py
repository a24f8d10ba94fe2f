"""Loads a system from the settings' import path, in the process and the thread that will use it.

Each thread in which torch computes has its own team of threads, as large as the replica's share of the cores. Two teams
would compete for the cores, so one thread does all the work of a process.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import partial
from urllib.parse import unquote

import torch

from models.capabilities import HasScope
from models.contract import check_contract, check_reply
from models.device import resolve_device, resolve_dtype
from models.system import Bundle
from service.config import Settings
from service.process_memory import freeze_gc, trim_heap


def read_options(query: str) -> dict[str, str]:
    """Return the options of a loader, written `NAME=VALUE&NAME=VALUE`; in a value `%26` stands for `&`."""
    return {
        name: unquote(value) for name, _, value in (part.partition("=") for part in query.split("&") if part)
    }


def load_system(settings: Settings, model: str) -> Bundle:
    """Load a system and its memories, with this process's share of the cores. This takes seconds.

    Raises:
        BrokenContract: The system breaks the contract of models/system.py.
        DeviceUnavailable: Its device or dtype is not available in this process.
        Exception: Its loader failed.
    """
    torch.set_num_threads(settings.n_threads)
    path, _, query = settings.systems[model].partition("?")
    module, _, attribute = path.partition(":")
    loader = partial(getattr(importlib.import_module(module), attribute), **read_options(query))
    device = resolve_device(settings.device_of(model))
    dtype = resolve_dtype(settings.dtype_of(model), device)
    bundle = check_contract(loader(device, dtype), model)
    if isinstance(bundle.system, HasScope):
        bundle.system.set_thresholds(settings.thresholds)
    check_reply(bundle)
    bundle = replace(bundle, device=str(device))
    freeze_gc()
    trim_heap()
    return bundle
