"""The small pack of tests/models/packs, for the tests that build one."""

from tests.models.packs.conftest import folder as folder
from tests.models.packs.conftest import relations as relations
