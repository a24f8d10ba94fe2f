"""Days that a text names, whatever their spelling."""

import pytest

from models.kit.days import find_dates, find_day, without_day


@pytest.mark.parametrize(
    ("text", "day", "rest"),
    [
        ("Who was mayor in 1975?", "1975", "who was mayor ?"),
        ("In the year 1975, who was mayor?", "1975", " who was mayor?"),
        ("Who was mayor on 3 March 1988?", "1988-03-03", "who was mayor ?"),
        ("Who was mayor on March 3rd, 1988?", "1988-03-03", "who was mayor ?"),
        ("Who was mayor before March 1988?", "1988-03", "who was mayor before ?"),
        ("Who was mayor in the 1980s?", "1980s", "who was mayor ?"),
        ("Who was mayor in 1975 or 1976?", "", "Who was mayor in 1975 or 1976?"),
        (
            "Who paid $1975 for 2,000 tiles in room 1975-A?",
            "",
            "Who paid $1975 for 2,000 tiles in room 1975-A?",
        ),
    ],
)
def test_the_one_day_of_a_text_is_found_and_left_out(text: str, day: str, rest: str) -> None:
    assert (find_day(text), without_day(text, day)) == (day, rest)


def test_words_that_say_a_time_have_their_places_in_the_text() -> None:
    text = "Euro 2016 and, from 12 June 2010 to May 1975, the 1980s"
    places = {text[date.start : date.end]: date.day for date in find_dates(text)}
    assert places == {"12 June 2010": "2010-06-12", "May 1975": "1975-05", "2016": "2016", "1980s": "1980s"}
