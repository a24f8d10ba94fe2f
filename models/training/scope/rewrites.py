"""Rewritten questions: a question becomes another one by one word, or stays the same in the words of people.

Each rewrite returns None if it does not apply.
"""

import random
import re
import string
from collections.abc import Callable, Mapping, Sequence

from models.training.scope.wordnet import WordNet

Forms = Mapping[str, Sequence[str]]
QUESTION_WORD = re.compile(
    r"(in what year|in which year|what year|who|what|which \w+|where|when|how)\b", re.IGNORECASE
)
VERB = re.compile(r"\b(is|was|are|were|did|does|do|has|had|can|will)\b")
ARTICLE = re.compile(r"\b(the|an|a|'s)\s")
NOUN_PHRASE = re.compile(r"(?:who|what|which \w+) (?:is|was|are|were) (the .+?)\?*$", re.IGNORECASE)
NAME = re.compile(r"(?<!^)\b[A-Z]\w{2,}")
DONE = r"\w+ed|born|held|built|made|found|written|shot|sold|set|kept"
SENTENCES = {  # question -> beginning of a sentence that its answer completes
    re.compile(rf"{question}\?*$", re.IGNORECASE): sentence
    for question, sentence in (
        (r"how many (.+?) (?:does|do|did|has|have) (.+) have", r"The number of \1 of \2 is"),
        (rf"(?:when|where|in w\w+ \w+) (is|was|are|were) (.+) ({DONE})", r"\2 \1 \3 in"),
        (r"(?:what|who) (is|was|are|were) (.+?)", r"\2 \1"),
        (r"who (\w+ed|wrote|won|made|built|led|runs|owns) (.+?)", r"\2, \1 by"),
    )
}
QUESTION_WORDS = frozenset(("who", "whom", "whose", "what", "which", "where", "when", "why", "how"))
ENDINGS = ("ing", "ed", "es", "s", "d", "est", "er")
ANTONYM_WEIGHT = 4  # weight of an antonym; a sister's is 1


class Rewriter:
    """Rewrites questions, by sentences of forms.toml and words of WordNet."""

    def __init__(self, forms: Forms, wordnet: WordNet) -> None:
        self._forms, self._wordnet = forms, wordnet

    def other_word(self, question: str, rng: random.Random) -> str | None:
        """Replace one content word by its opposite or by a sister."""

        def replacements_of(stem: str) -> list[str]:
            antonyms, sisters = self._wordnet.replacements(stem)
            return antonyms * ANTONYM_WEIGHT + ([rng.choice(sisters)] if sisters else [])

        return self._replace_word(question, replacements_of, rng)

    def _replace_word(
        self, question: str, replacements_of: Callable[[str], list[str]], rng: random.Random
    ) -> str | None:
        """Replace one content word by one of those that `replacements_of` returns for its stem."""
        options: list[tuple[str, str]] = []
        for match in re.finditer(r"[A-Za-z]+", question):
            word = match[0]
            is_name = word[0].isupper() and match.start() > 0
            if len(word) > 2 and word.lower() not in QUESTION_WORDS and not is_name:
                options += [(word, new) for new in self._find_forms(word.lower(), replacements_of)]
        if not options:
            return None
        word, new = rng.choice(options)
        return re.sub(rf"\b{word}\b", new.capitalize() if word[0].isupper() else new, question, count=1)

    def _find_forms(self, word: str, replacements_of: Callable[[str], list[str]]) -> list[str]:
        if word in self._wordnet:
            return replacements_of(word)
        stems = ((word[: -len(end)], end) for end in ENDINGS if word.endswith(end))
        stem, ending = next(((s, end) for s, end in stems if len(s) > 2 and s in self._wordnet), (word, ""))
        return [_inflect(new, ending) for new in replacements_of(stem)]

    def other_question_word(self, question: str, rng: random.Random) -> str | None:
        """Begin with another question word."""
        if (match := QUESTION_WORD.match(question)) is None:
            return None
        first = match[0].lower()
        options = [word for word in self._forms["words"] if word.lower() not in first]
        word = rng.choice([w for w in options if (w, "year" in first) != ("When", True)])
        return word + question[match.end() :]

    def other_function_word(self, question: str, rng: random.Random) -> str | None:
        """Replace a possessive, modal, quantifier, condition or unit by one that asks for something else."""
        families = {word: rest for word, *rest in map(str.split, self._forms["function_words"])}
        places = [match for match in re.finditer(r"[A-Za-z]+", question) if match[0].lower() in families]
        if not places:
            return None
        match = rng.choice(places)
        new = rng.choice(families[match[0].lower()])
        new = new.capitalize() if match[0][0].isupper() and not match.start() else new
        return question[: match.start()] + new + question[match.end() :]

    def negate(self, question: str, rng: random.Random) -> str | None:
        """Ask for the opposite."""
        if (match := VERB.search(question)) is None:
            return None
        if rng.random() < 0.2:
            return question.rstrip("?.") + rng.choice([", which it is not?", ", and what not?"])
        word = " never" if rng.random() < 0.3 else " not"
        if match[0] not in ("did", "does", "do"):
            return question[: match.end()] + word + question[match.end() :]
        head, _, last = question[match.end() :].rstrip("?.").rpartition(" ")
        return f"{question[: match.end()]}{head}{word} {last}?"

    def at_another_time(self, question: str, rng: random.Random) -> str:
        time = rng.choice(self._forms["times"]).format(year=rng.randint(1400, 2020))
        return f"{question.rstrip('?.')} {time}?"

    def qualify(self, question: str, rng: random.Random) -> str | None:
        """Put an adjective before the first noun."""
        if (match := ARTICLE.search(question)) is None:
            return None
        return f"{question[: match.end()]}{rng.choice(self._forms['adjectives'])} {question[match.end() :]}"

    def in_a_unit(self, question: str, rng: random.Random) -> str:
        return f"{question.rstrip('?.')} {rng.choice(self._forms['units'])}?"

    def contain(self, question: str, label: str, rng: random.Random) -> str | None:
        """Ask a question about the answer of this one."""
        match = NOUN_PHRASE.match(question)
        return rng.choice(self._forms["around"]).format(phrase=match[1], outer=label) if match else None

    def other_name(self, question: str, names: Sequence[str], rng: random.Random) -> str | None:
        names_there = NAME.findall(question)
        return question.replace(rng.choice(names_there), rng.choice(names), 1) if names_there else None

    def as_sentence(self, question: str) -> str:
        """Return the beginning of a sentence that the answer completes; the question itself if no form fits."""
        for pattern, sentence in SENTENCES.items():
            if match := pattern.match(question):
                return (text := match.expand(sentence))[:1].upper() + text[1:]
        return question

    def as_people_write(self, question: str, rng: random.Random, name: str = "") -> str:
        """Return the question in lower case, in a frame, with a slip or a synonym; in a quarter unchanged."""
        change = rng.random()
        if change < 0.15:
            return question.lower()
        if change < 0.25:
            return question.rstrip("?.")
        if change < 0.37:
            lower = question[:1].lower() + question[1:]
            return rng.choice(self._forms["frames"]).format(question=question, lower=lower)
        if change < 0.57:
            is_name = change > 0.47
            pattern, text = (r"[^\W\d_]{6,}", name) if is_name else (r"[A-Za-z]{4,}", question)
            words = [word for word in re.findall(pattern, text) if is_name or word not in name]
            return question.replace(word := rng.choice(words), misspell(word, rng), 1) if words else question
        if change < 0.75:
            return self._replace_word(question, self._wordnet.synonyms, rng) or question
        return question


def _inflect(word: str, ending: str) -> str:
    if ending in ("d", "ed"):
        return word + ("d" if word.endswith("e") else "ed")
    return word.removesuffix("e") + ending if ending[:1] in ("e", "i") else word + ending


def misspell(word: str, rng: random.Random) -> str:
    """Leave one inner letter of the word out, double it, replace it, or swap it with the next."""
    place = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    slips = (
        after,
        letter + letter + after,
        rng.choice(string.ascii_lowercase) + after,
        after[0] + letter + after[1:],
    )
    return before + rng.choice(slips)
