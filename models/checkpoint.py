"""The earlier name of models/kit/checkpoint.py."""

from models.kit.checkpoint import *  # noqa: F403
