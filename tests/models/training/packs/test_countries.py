"""How the values of GeoNames become answers."""

import pytest

from models.training.packs.countries import dialled, main_languages, mutual_neighbours


@pytest.mark.parametrize(
    ("phone", "expected"),
    [("51", "+51"), ("+1-268", "+1-268"), ("+1-809 and 1-829", "+1-809"), (" ", ""), ("", "")],
)
def test_a_calling_code_is_written_as_it_is_dialled(phone: str, expected: str) -> None:
    assert dialled(phone) == expected


def test_the_three_languages_most_spoken_are_named() -> None:
    assert main_languages("es-PE,qu,ay,en") == ["Aymara", "Quechua", "Spanish"]


def test_two_standards_of_one_language_are_one_language() -> None:
    assert main_languages("no,nb,nn") == ["Norwegian"]


def test_only_countries_that_name_each_other_are_neighbours() -> None:
    table = {"PE": {"neighbours": "CL,EC"}, "CL": {"neighbours": "PE"}, "EC": {"neighbours": ""}}
    assert mutual_neighbours("PE", table) == ["CL"]


def test_a_leased_bay_is_no_border() -> None:
    table = {"US": {"neighbours": "CU,CA"}, "CU": {"neighbours": "US"}, "CA": {"neighbours": "US"}}
    assert mutual_neighbours("US", table) == ["CA"]
