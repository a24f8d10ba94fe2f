"""Shapes are checked wherever the tests go: beartype stands behind the types of `models` before any is imported."""

from jaxtyping import install_import_hook

AN_INT_IS_A_FLOAT = "beartype.BeartypeConf(is_pep484_tower=True)"

install_import_hook("models", f"beartype.beartype(conf={AN_INT_IS_A_FLOAT})")
