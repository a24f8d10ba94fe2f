"""Types are checked by beartype in whatever is imported after `check`; shapes, by jaxtyping, where a type has one.

jaxtyping binds the arguments of each call anew, which costs many times what short functions do. Where no type has a
shape there is nothing in it for jaxtyping to compare, so that beartype alone looks at the same types.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args

import jaxtyping
from jaxtyping import AbstractArray, install_import_hook

AN_INT_IS_A_FLOAT = "beartype.BeartypeConf(is_pep484_tower=True)"
with_shapes = jaxtyping.jaxtyped


def check(modules: Sequence[str]) -> None:
    jaxtyping.jaxtyped = with_checks  # what the hook writes above every function and class
    install_import_hook(modules, f"beartype.beartype(conf={AN_INT_IS_A_FLOAT})")


def with_checks(part: Any = None, *, typechecker: Any) -> Any:
    """A function or class with its types checked at each call."""
    if part is None:
        return partial(with_checks, typechecker=typechecker)
    function = part.__init__ if dataclasses.is_dataclass(part) else part
    if inspect.isclass(function) or may_have_shapes(function):
        return with_shapes(part, typechecker=typechecker)
    if function is part:
        return typechecker(part)
    part.__init__ = typechecker(function)
    return part


def may_have_shapes(function: Callable[..., Any]) -> bool:
    """Also where a type in quotes cannot be read before the rest of its file."""
    try:
        types = inspect.get_annotations(function, eval_str=True)
    except (NameError, TypeError):
        return True
    return any(has_shape(type_) for type_ in types.values())


def has_shape(type_: Any) -> bool:
    if isinstance(type_, str):
        return True
    if inspect.isclass(type_) and issubclass(type_, AbstractArray):
        return True
    return any(has_shape(argument) for argument in get_args(type_))
