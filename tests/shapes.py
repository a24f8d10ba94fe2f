"""Types are checked by beartype in whatever is imported after `check`; shapes, by jaxtyping, where a type has one.

jaxtyping's own decorator binds the arguments of each call anew and checks them twice, which costs many times what
short functions do. Here beartype checks each call once, while jaxtyping remembers the sizes of the axes. Where no type
has a shape, beartype alone looks at the same types.
"""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Sequence
from functools import partial, wraps
from typing import Any, get_args

import jaxtyping
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import AbstractArray, install_import_hook
from jaxtyping._storage import pop_shape_memo, push_shape_memo, shape_str

AN_INT_IS_A_FLOAT = "beartype.BeartypeConf(is_pep484_tower=True)"
with_bound_shapes = jaxtyping.jaxtyped


def check(modules: Sequence[str]) -> None:
    jaxtyping.jaxtyped = with_checks  # what the hook writes above every function and class
    install_import_hook(modules, f"beartype.beartype(conf={AN_INT_IS_A_FLOAT})")


def with_checks(part: Any = None, *, typechecker: Any) -> Any:
    """A function or class with its types checked at each call."""
    if part is None:
        return partial(with_checks, typechecker=typechecker)
    function = part.__init__ if dataclasses.is_dataclass(part) else part
    types = read_types(function)
    if types is None or inspect.isgeneratorfunction(function):
        return with_bound_shapes(part, typechecker=typechecker)
    check_call = with_shapes(function, typechecker) if any(map(has_shape, types)) else typechecker(function)
    if function is part:
        return check_call
    part.__init__ = check_call
    return part


def with_shapes(function: Callable[..., Any], typechecker: Any) -> Callable[..., Any]:
    """Return the function with its types checked, and with the axes of one name of one size in each call."""
    check_call = typechecker(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        memos = push_shape_memo({})
        try:
            return check_call(*args, **kwargs)
        except BeartypeCallHintViolation as error:
            error.add_note(shape_str(memos))
            raise
        finally:
            pop_shape_memo()

    return call


def read_types(function: Any) -> Collection[Any] | None:
    """Return the types of a function; None for a class, or if a type in quotes cannot be read yet."""
    try:
        return (
            inspect.get_annotations(function, eval_str=True).values()
            if inspect.isfunction(function)
            else None
        )
    except (NameError, TypeError):
        return None


def has_shape(type_: Any) -> bool:
    if isinstance(type_, str):
        return True
    if inspect.isclass(type_) and issubclass(type_, AbstractArray):
        return True
    return any(has_shape(argument) for argument in get_args(type_))
