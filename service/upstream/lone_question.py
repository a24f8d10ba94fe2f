"""Whether a message asks for an edit by itself, and for nothing else."""

import re

NAME = re.compile(r"\w*[A-Z\d]\w*|\w*[^\W\d_a-z]\w*")  # a word that a sentence would not write as it begins
SENTENCE = re.compile(r".+?(?:[.!?](?=\W)|[。！？]|$)")
FEW_WORDS = 3
WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|\w+")  # or a letter of a script without spaces


def stands_alone(question: str, wording: str) -> bool:
    """Return whether a follow-up names what it asks about: it has each name of the edit's wording, or is that wording.

    Args:
        wording: The wording by which the edit was found; "" where a system finds edits without one.
    """
    names = {name.casefold() for word in wording.split()[1:] for name in NAME.findall(word)}
    if not names:
        return wording.casefold() in ("", question.casefold())
    return names <= set(re.findall(r"\w+", question.casefold()))


def says_more(text: str, wording: str) -> bool:
    """Return whether a text brings a text or an instruction, too: a sentence asks by itself, and another is as long.

    A sentence of a few words, as a greeting or a name with a dot has, counts for none.
    """
    sentences = [
        sentence.strip() for sentence in SENTENCE.findall(text) if len(WORD.findall(sentence)) > FEW_WORDS
    ]
    return len(sentences) > 1 and any(
        sentence[-1] in "?？" and stands_alone(sentence, wording) for sentence in sentences
    )
