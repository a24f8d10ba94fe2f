"""What travels over HTTP, written once: the service validates with these types and the SDK returns them.

Requests are strict (no unknown fields, no guessing of types), so that a misspelt option is refused and not
ignored. Responses let unknown fields pass, so that an older client can read a newer service.
"""

# ruff: noqa: F403  each name of these files is one of `errata.wire`
from errata.wire.admin import *
from errata.wire.answers import *
from errata.wire.base import *
from errata.wire.documents import *
from errata.wire.edits import *
from errata.wire.graph import *
from errata.wire.history import *
from errata.wire.problems import *
from errata.wire.report import *
from errata.wire.state import *
from errata.wire.worklist import *
