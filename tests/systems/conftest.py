"""Each system with its default checkpoint, before and after the edit of its record."""

from dataclasses import dataclass
from functools import cache, cached_property

import pytest

from models.memory import Views
from models.system import Ask, Bundle, Reply
from tests.one_thread import one_thread as one_thread
from tests.systems.records import RECORDS, Record, State, answer, link, load, read


@dataclass(frozen=True)
class Case:
    """A record with its system."""

    record: Record
    bundle: Bundle

    @cached_property
    def before(self) -> Views:
        return read(self.bundle, self.record.earlier)

    @cached_property
    def after(self) -> Views:
        return read(self.bundle, self.record.earlier, self.record.edit)

    def say(self, views: Views, *asks: Ask) -> list[Reply]:
        return answer(self.bundle, asks, views)

    def read(self, *states: State) -> Views:
        return read(self.bundle, *states)

    def link(self, views: Views, *asks: Ask) -> list[Ask]:
        return [link(ask, views) for ask in asks]


@cache
def case_of(name: str) -> Case:
    [record] = [record for record in RECORDS if record.name == name]
    return Case(record, load(name))


@pytest.fixture(params=[record.name for record in RECORDS], scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return case_of(request.param)


def having(*needs: object) -> pytest.MarkDecorator:
    """Run a test with the systems that have capabilities, or inputs."""
    names = [record.name for record in RECORDS if {*record.capabilities, *record.inputs}.issuperset(needs)]
    assert names
    return pytest.mark.parametrize("case", names, indirect=True, scope="module")
