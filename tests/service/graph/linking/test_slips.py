"""Names that a text has nearly: only words that are neither linked nor common are taken for slips."""

import pytest

from service.graph.linking.linker import Linker

COMMON = {"what", "is", "the", "capital", "of", "chile", "wooden", "who", "founded"}
NAMES = (
    "Microsoft",
    "New Zealand",
    "Audio Interchange File",
    "Woodend",
    "Peru",
    "Chile",
    "Müller",
    "Falcon 9",
)


def find(text: str) -> list[tuple[str, str]]:
    """Return what is written, and the name that may be meant."""
    linker = Linker()
    linker.add([(name, f"id of {name}") for name in NAMES])
    return [(text[slip.start : slip.end], slip.name) for slip in linker.find_slips(text, COMMON.__contains__)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who founded Micosoft?", [("Micosoft", "microsoft")]),
        ("Micorsoft's capital", [("Micorsoft", "microsoft")]),
        ("What is the capital of New Zeeland?", [("New Zeeland", "new zealand")]),
        ("Nwe Zealand", []),
        ("AUDIO  INTERCHNAGE FILE", [("AUDIO  INTERCHNAGE FILE", "audio interchange file")]),
        ("Who founded Müllerr?", [("Müllerr", "müller")]),
        ("Who founded Falcn 9?", [("Falcn 9", "falcon 9")]),
    ],
)
def test_a_name_with_one_slip_is_found_whole(text: str, expected: list[tuple[str, str]]) -> None:
    assert find(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Who founded Microsoft?",
        "What is the capital of New Zealand?",
        "What is wooden?",  # a common word, and nearly Woodend
        "Who founded Falcon 8?",
        "Who founded Tallwater?",
        "What is the capital of Chhile?",  # Chile is too short
        "Who founded Mikrosofft?",
        "",
    ],
)
def test_right_names_common_words_and_unknown_names_are_no_slips(text: str) -> None:
    assert find(text) == []
