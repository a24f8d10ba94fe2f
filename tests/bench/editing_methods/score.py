"""One cell of the scoreboard: a method, a number of edits, a seed. All shares are kept as counts."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.editing_methods.draw import Stream, Wish
from tests.bench.editing_methods.said import Said
from tests.bench.editing_methods.ways import Made, Way
from tests.bench.timing import interleaved

ALL_FORMS = 1_000  # edits up to which every held phrasing is asked; beyond, one for each edit
ASKED_BACK = 2_000  # kept, and reverted, edits that are asked after half were taken back
FIRST = 100  # edits whose standing at the end is compared with their standing when they were the last
REMADE = 1_000  # edits up to which half of them are made anew, to compare bits
RATED, ROUNDS = 512, 3  # questions, and how often, for the answers in a second
BUSY = 100  # edits from which the answers in a second are measured

Base = Callable[[Sequence[str]], list[str]]  # what the unedited model says


class Counts(dict[str, list[int]]):
    """[right, asked] by name."""

    def add(self, name: str, right: Sequence[bool]) -> None:
        known = self.setdefault(name, [0, 0])
        known[0] += sum(right)
        known[1] += len(right)


@dataclass(frozen=True)
class Scores:
    """figures: means over the cell's streams."""

    counts: Counts
    figures: Mapping[str, float]


def score(way: Way, streams: Sequence[Stream], base: Base) -> Scores:
    counts, figures = Counts(), defaultdict[str, list[float]](list)
    for stream in streams:
        made = way.make(stream.wishes)
        kept_and_changed(made, stream, base, counts)
        _taken_back(way, made, stream, base, counts)
        if len(stream.wishes) > FIRST:
            _first(way, made, stream, counts)
        for name in ("edit_ms", "bytes_per_edit", "rows_per_slot"):
            figures[name].append(getattr(made, name))
        if len(stream.wishes) >= BUSY and not figures["rate"]:
            figures["rate"].append(_rate(way, made, stream))
    return Scores(counts, {name: sum(some) / len(some) for name, some in figures.items()})


def kept_and_changed(made: Made, stream: Stream, base: Base, counts: Counts) -> None:
    wishes = stream.wishes
    forms = {wish.id: _forms(wish, len(wishes)) for wish in wishes}
    asked = [wish.question for wish in wishes] + [form for some in forms.values() for form in some]
    asked += [question for some in stream.bystanders.values() for question in some]
    said = _said(made, asked)
    counts.add("refused", [wish.id not in made.made for wish in wishes])
    counts.add("reliability", [_hit(made, wish, said[wish.question]) for wish in wishes])
    counts.add("generalisation", [_hit(made, wish, said[form]) for wish in wishes for form in forms[wish.id]])
    for (kind, form), questions in stream.bystanders.items():
        before = base(questions)
        counts.add(f"{kind}, {form}", [said[q].best == b for q, b in zip(questions, before, strict=True)])


def _taken_back(way: Way, made: Made, stream: Stream, base: Base, counts: Counts) -> None:
    """A random half; of one edit, that one."""
    rng = random.Random(len(stream.wishes))
    reverted = set(rng.sample([wish.id for wish in stream.wishes], (len(stream.wishes) + 1) // 2))
    kept = [wish for wish in stream.wishes if wish.id not in reverted]
    gone = [wish for wish in stream.wishes if wish.id in reverted]
    left = made.keeping({wish.id for wish in kept})
    some_kept, some_gone = (rng.sample(some, min(ASKED_BACK, len(some))) for some in (kept, gone))
    said = _said(left, [wish.question for wish in some_kept + some_gone])
    counts.add("kept", [_hit(left, wish, said[wish.question]) for wish in some_kept])
    before = base([wish.question for wish in some_gone])
    counts.add("back", [said[w.question].best == b for w, b in zip(some_gone, before, strict=True)])
    if len(stream.wishes) <= REMADE or way.name == "gated":
        counts.add("bits", [left.digest == way.anew().make(kept).digest])


def _first(way: Way, made: Made, stream: Stream, counts: Counts) -> None:
    first = stream.wishes[:FIRST]
    for name, state in (("first, then", made.keeping({wish.id for wish in first})), ("first, now", made)):
        said = _said(state, [wish.question for wish in first])
        counts.add(name, [_hit(state, wish, said[wish.question]) for wish in first])


def _rate(way: Way, made: Made, stream: Stream) -> float:
    """Answers in a second with these edits, as a share of those with none, encoder included."""
    asked = [question for some in stream.bystanders.values() for question in some][:RATED]
    none = way.make(())
    taken = interleaved(
        {"none": lambda: none.unread().say(asked), "edited": lambda: made.unread().say(asked)}, ROUNDS
    )
    return taken["none"] / taken["edited"]


def _forms(wish: Wish, n: int) -> Sequence[str]:
    return wish.held if n <= ALL_FORMS else [random.Random(wish.id).choice(wish.held)]


def _said(made: Made, questions: Sequence[str]) -> dict[str, Said]:
    distinct = list(dict.fromkeys(questions))
    return dict(zip(distinct, made.say(distinct), strict=True))


def _hit(made: Made, wish: Wish, said: Said) -> bool:
    return wish.id in made.made and said.given == wish.answer
