"""The four boards, in the order in which a person would look at them."""

from __future__ import annotations

from deploy.grafana.boards.graph import GRAPH
from deploy.grafana.boards.hardware import HARDWARE
from deploy.grafana.boards.memory import MEMORY
from deploy.grafana.boards.service import SERVICE

BOARDS = (SERVICE, MEMORY, GRAPH, HARDWARE)
