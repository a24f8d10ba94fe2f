"""Which language a question is in, by its commonest small words.

A detector of languages that knows short questions takes 100 MB, and a name in a question misleads it. Small words of a
name ("Pays de la Loire") do not count beside one that only English has.
"""

import re
import unicodedata

WORD = re.compile(r"\w+")
ENGLISH = frozenset(
    WORD.findall(
        "what who whom whose which where when why how are were be been does did the of on at for to by from with and "
        "name give tell has have had"
    )
)
OTHER_LANGUAGES = frozenset(  # German, French, Spanish, Italian, Portuguese, Dutch, Polish
    WORD.findall(
        "wer wie wo wann welche welcher welches ist sind war die der das den dem von im und "
        "quel quelle quels quelles qui est sont le la les du des où quand combien et "
        "qué cuál cuáles quién quiénes dónde cuándo es son el los las del de y "
        "qual quale quali chi è sono il lo gli della dello di dove quando "
        "quem onde são o os as da dos das em e "
        "wat waar welke wanneer zijn het van een "
        "co kto jaka jaki jakie jest są gdzie kiedy"
    )
)
MIN_FOREIGN = 2  # small words of other languages, for one may be part of a name


def is_in_another_script(question: str) -> bool:
    """Return whether a word of the question is not in Latin letters."""
    return not all(map(is_latin, WORD.findall(question)))


def is_in_another_language(question: str) -> bool:
    """Return whether a question reads like one of seven other languages; without small words it counts as English."""
    words = WORD.findall(unicodedata.normalize("NFC", question).casefold())
    return ENGLISH.isdisjoint(words) and sum(word in OTHER_LANGUAGES for word in words) >= MIN_FOREIGN


def is_latin(word: str) -> bool:
    """Return whether all letters of a word are Latin."""
    letters = (letter for letter in word if letter.isalpha())
    return word.isascii() or all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
