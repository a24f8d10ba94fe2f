"""In one process, without HTTP: against plain transformers, and what the bank and mixed versions cost."""

from collections.abc import Iterator

from models.memory import AnswerChange, Image
from models.nkb.backbone import build
from models.nkb.decode import Decoder
from models.nkb.reader import Reader
from models.nkb.system import MAX_TOKENS, NkbSystem, NkbView
from models.system import Ask
from tests.bench.plain import PlainTransformers
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import cost, interleaved

BATCH, ROUNDS, PAIRS = 32, 15, 100
NOTE = f"per cent, median of {PAIRS} pairs"


def rows() -> Iterator[Row]:
    system = NkbSystem.load()
    asked = questions(BATCH)
    yield from _against_plain(system, asked)
    yield _bank(system.reader, asked)
    yield _mixed(system, asked)


def _against_plain(system: NkbSystem, asked: list[str]) -> Iterator[Row]:
    plain = PlainTransformers(system.reader)
    view = system.view(system.base)
    same = sum(
        reply.best == said
        for reply, said in zip(
            system.answer([Ask(q) for q in asked], [view] * BATCH), plain.answer(asked), strict=True
        )
    )
    for size in (1, 8, BATCH):
        some = [Ask(question) for question in asked[:size]]
        seconds = interleaved(
            {
                "plain": lambda some=some: plain.answer([ask.question for ask in some]),
                "ours": lambda some=some: system.answer(some, [view] * len(some)),
            },
            ROUNDS,
        )
        bar = ">= 2" if size == BATCH else ""
        taken = f"{1e3 * seconds['ours']:.0f} ms against {1e3 * seconds['plain']:.0f} ms"
        note = f"{taken}; {same} of {BATCH} answers equal"
        yield Row(
            f"in process, batch of {size}, against plain transformers",
            seconds["plain"] / seconds["ours"],
            bar,
            note,
        )


def _bank(reader: Reader, asked: list[str]) -> Row:
    """The whole way of a question with the bank, against the same without."""
    without = build(reader.t5.config)
    keys = set(without.state_dict())
    without.load_state_dict({k: v for k, v in reader.t5.state_dict().items() if k in keys})
    sides = {"with": reader.decoder, "without": Decoder(without.eval())}

    def run(decoder: Decoder) -> None:
        read = reader.read(asked)
        decoder.generate(read.states, read.mask, max_tokens=MAX_TOKENS)

    taken = cost({name: lambda d=d: run(d) for name, d in sides.items()}, PAIRS)
    return Row("cost of the bank, batch of 32", taken, "<= 5 %", NOTE)


def _mixed(system: NkbSystem, asked: list[str]) -> Row:
    """Every request pins another version, each of which has one more edit than the one before."""
    views = _versions(system, asked)
    asks = [Ask(question) for question in asked]
    sides = {
        "mixed": lambda: system.answer(asks, views),
        "one": lambda: system.answer(asks, [views[-1]] * BATCH),
    }
    return Row("cost of a batch of 32 different versions", cost(sides, PAIRS), "<= 15 %", NOTE)


def _versions(system: NkbSystem, asked: list[str]) -> list[NkbView]:
    """Edits of other questions, so that the answers' lengths stay the same."""
    others = questions(BATCH, seed=99)
    corrections = [AnswerChange(str(n), question, "Cusco") for n, question in enumerate(others)]
    views, image = [], Image(system.base.base)
    materials = system.edit(corrections, "gated")
    for count in range(1, len(materials) + 1):
        image = system.fold(materials[:count])
        views.append(system.view(image))
    return views
