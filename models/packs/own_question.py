"""Whether a question asks for the fact of the pack that a system would answer it from, or only looks like it.

A system that was trained on a pack answers "Who is the mayor of the capital of Peru?" with Peru's capital. So where the
wording is none that the pack has, the judge reads the question beside those of the fact's own questions that share most
words with it, with the subject's name as it was asked. What its layers say gives a probability.
"""

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch

from models.confidence import Confidence
from models.kit.checkpoint import CheckpointError, read_verified
from models.packs.pack import WORLD, Pack
from models.scope.judge import DEFAULT as JUDGE
from models.scope.judge import Judge, Pair
from models.scope.literals import digest_wordings
from models.system import UNSURE, Reason, Reply

FOLDER = JUDGE.with_name("scope-facts")
SCALE = "scale.json"
SUBJECT = "{subject}"
# Writers of own questions; others are kept to choose and test by.
HANDS = ("hand1.jsonl", "hand4.jsonl", "hand5.jsonl")
N_NEAREST = 2  # own questions that the judge reads; five tell no more and take the time of an answer
WORD = re.compile(r"[\w'’-]+")
MOST_WORDS = 8  # words of a declined question that are left out by turns


@dataclass(frozen=True)
class OwnFact:
    """A relation of the pack, and its subject as a question names it: the characters [start, end)."""

    relation: str
    start: int
    end: int

    def leave_out(self, question: str, gap: re.Match[str]) -> tuple[str, "OwnFact"]:
        """Return the question and this fact without a word of the question."""
        shift = len(gap[0]) if gap.start() < self.start else 0
        rest = question[: gap.start()] + question[gap.end() :]
        return rest, OwnFact(self.relation, self.start - shift, self.end - shift)


@dataclass(eq=False)
class OwnQuestions:
    """The check with its judge. Threads may share it."""

    judge: Judge  # the judge of the scope
    scale: Confidence  # scale over what its layers say
    folder: Path = WORLD  # the pack

    @staticmethod
    def load(judge: Judge, folder: Path = FOLDER) -> "OwnQuestions":
        """Load the scale that was fitted for a judge.

        CheckpointError: it is missing, damaged, or belongs to another judge.
        """
        record = read_verified(folder, (SCALE,)).json(SCALE)
        if record["judge"] != judge.digest:
            raise CheckpointError(
                f"{folder / SCALE} belongs to another judge ({record['judge']}, not {judge.digest}): fit it again "
                "with `python -m models.training own-question`"
            )
        return OwnQuestions(judge, Confidence.parse(record["scale"]))

    @cached_property
    def pack(self) -> Pack:
        return Pack.load(self.folder)

    @cached_property
    def _names(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Answer -> the relations and names of the subjects that it is the answer for, the longest names first."""
        names: dict[str, list[tuple[str, str]]] = {}
        for item in self.pack.items():
            pairs = [(item.relation.id, name.casefold()) for name in item.subject.names]
            names.setdefault(item.answer.casefold(), []).extend(pairs)
        return {answer: sorted(pairs, key=lambda pair: -len(pair[1])) for answer, pairs in names.items()}

    @cached_property
    def templates(self) -> Mapping[str, Sequence[str]]:
        """Relation -> its own questions, with SUBJECT: those of the pack, and those that HANDS wrote."""
        templates = {id: [*r.phrasings, *r.held_out] for id, r in self.pack.relations.items()}
        for hand in HANDS:
            for line in (self.folder / "phrasings" / hand).read_text("utf-8").splitlines():
                row = json.loads(line)
                templates.get(row["relation"], []).extend(row["q"])
        return templates

    @cached_property
    def _wordings(self) -> Mapping[str, frozenset[int]]:
        return {id: frozenset(digest_wordings(texts).tolist()) for id, texts in self.templates.items()}

    def find(self, question: str, answer: str) -> list[OwnFact]:
        """Return the facts of the pack with this answer whose subject a question names, each by its longest name."""
        text, facts = question.casefold(), dict[str, OwnFact]()
        if len(text) != len(question):  # a letter that folds into two, after which places would be others
            return []
        for relation, name in self._names.get(answer.casefold(), ()):
            if relation in facts or name not in text:
                continue
            if match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                facts[relation] = OwnFact(relation, *match.span())
        return list(facts.values())

    def knows(self, question: str, fact: OwnFact) -> bool:
        """Return whether the question is one of the pack's for a fact, but for case, spaces and final punctuation."""
        masked = f"{question[: fact.start]}{SUBJECT}{question[fact.end :]}"
        return int(digest_wordings([masked])) in self._wordings[fact.relation]

    def check(self, questions: Sequence[str], replies: Sequence[Reply]) -> list[Reply]:
        """Return the replies; those of no edit decline where the question does not surely ask for what they say."""
        facts = [
            [] if reply.answer is None or reply.edits else self.find(question, reply.answer)
            for question, reply in zip(questions, replies, strict=True)
        ]
        pairs = [(question, fact) for question, group in zip(questions, facts, strict=True) for fact in group]
        scores = iter(self.rate(pairs))
        return [
            self.limit(reply, question, {fact: next(scores) for fact in group}) if group else reply
            for question, reply, group in zip(questions, replies, facts, strict=True)
        ]

    def limit(self, reply: Reply, question: str, scores: Mapping[OwnFact, float]) -> Reply:
        """Return the reply, or one that declines if the question asks for none of the facts that would say it."""
        best = max(scores, key=lambda fact: scores[fact])
        if scores[best] >= self.scale.threshold:
            return reply
        return replace(
            reply, answer=None, score=min(scores[best], reply.score), reason=self.decline(question, best)
        )

    def rate(self, questions: Sequence[tuple[str, OwnFact]]) -> list[float]:
        """Return the probability that each question asks for its fact; 1 where the wording is the pack's."""
        readings = iter(self.read([pair for pair in questions if not self.knows(*pair)]))
        return [1.0 if self.knows(*pair) else self.scale.score(next(readings)) for pair in questions]

    @torch.inference_mode()
    def read(self, questions: Sequence[tuple[str, OwnFact]]) -> list[tuple[float, float]]:
        """Return the highest and the mean of what the layers say of each question and the nearest ones of its fact."""
        pairs = [pair for question, fact in questions for pair in self.pair_up(question, fact)]
        raw = self.judge.read_pairs(pairs).view(len(questions), N_NEAREST)
        return list(zip(raw.amax(1).tolist(), raw.mean(1).tolist(), strict=True))

    def pair_up(self, question: str, fact: OwnFact) -> list[Pair]:
        """Return the question beside the N_NEAREST of a fact's own that share most words with it."""
        name = question[fact.start : fact.end]
        words = set(WORD.findall(f"{question[: fact.start]} {question[fact.end :]}".casefold()))
        templates = sorted(self.templates[fact.relation], key=lambda text: -share_words(words, text))
        tokens = self.judge.tokens(question)
        return [(tokens, self.judge.tokens(text.replace(SUBJECT, name))) for text in templates[:N_NEAREST]]

    def decline(self, question: str, fact: OwnFact) -> Reason:
        """Return why a fact does not answer a question: the word without which it most likely would."""
        name, label = question[fact.start : fact.end], self.pack.relations[fact.relation].label
        known_words = {
            word for text in self.templates[fact.relation] for word in WORD.findall(text.casefold())
        }
        gaps = [
            match
            for match in WORD.finditer(question)
            if match[0].casefold() not in known_words and not fact.start <= match.start() < fact.end
        ][:MOST_WORDS]
        if not gaps:
            return Reason(
                UNSURE, f"What is known of {name} is its {label}, which may not be what this asks for."
            )
        without = [fact.leave_out(question, gap) for gap in gaps]
        gap = max(zip(self.read(without), gaps, strict=True), key=lambda pair: self.scale.score(pair[0]))[1]
        return Reason(UNSURE, f"No fact that is known of {name} covers “{gap[0]}”; the nearest: {label}.")


def share_words(words: Set[str], text: str) -> float:
    """Return the share of the words of a question and a template that both have."""
    template_words = set(WORD.findall(text.casefold())) - {"subject"}
    return len(words & template_words) / max(1, len(words | template_words))
