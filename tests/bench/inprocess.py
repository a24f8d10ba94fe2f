"""Measures one process without HTTP: `nkb` against plain transformers, the cost of the bank and of mixed versions.

And of the judge: its layers in 8 bits against the same in float32 by torch, both in batches; and of questions near
many edits.
"""

import random
from collections.abc import Iterator
from itertools import combinations, islice

from models.encoder.pairs import PairLayers
from models.kit.checkpoint import WEIGHTS
from models.memory import AnswerChange, Views
from models.nkb.backbone import build
from models.nkb.decode import Decoder
from models.nkb.memory import BankMemory
from models.nkb.reader import Reader
from models.nkb.system import MAX_TOKENS, NkbSystem
from models.scope.judge import DEFAULT as JUDGE
from models.system import Ask
from models.training.scope.training import read_weights
from tests.bench.bank import build_gated, load_nkb, read_bank
from tests.bench.plain import PlainTransformers, load_t5
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import measure_cost, measure_interleaved

BATCH, ROUNDS, PAIRS = 32, 15, 100
NEAR_EDITS = 500
SYLLABLES = ("ba", "ko", "mi", "ter", "lun", "var", "oss", "fen", "ga", "rid", "ul", "wen")
BARS = {1: 2.2, 8: 2.5, BATCH: 2.5}  # answers a second, of those of plain transformers, by the batch
PAIR_BATCHES = (1, 8, 40)  # pairs that the judge reads at once; an edit has some forty
NOTE = f"per cent, median of {PAIRS} pairs"


def rows() -> Iterator[Row]:
    system, memory = load_nkb()
    texts = questions(BATCH)
    yield from _against_plain(system, memory, texts)
    yield from _split_time(system, base=read_bank(memory), texts=texts)
    yield _measure_bank(system.reader, texts)
    yield _measure_mixed_versions(system, memory, texts)
    yield from _measure_judge(system.reader, texts)
    yield _measure_near(system, memory)


def _against_plain(system: NkbSystem, memory: BankMemory, texts: list[str]) -> Iterator[Row]:
    plain = PlainTransformers(system.reader)
    base = read_bank(memory)
    same = sum(
        reply.best == answer
        for reply, answer in zip(
            system.answer([Ask(text) for text in texts], [base] * BATCH), plain.answer(texts), strict=True
        )
    )
    for size, bar in BARS.items():
        asks = [Ask(text) for text in texts[:size]]
        seconds = measure_interleaved(
            {
                "plain": lambda asks=asks: plain.answer([ask.question for ask in asks]),
                "ours": lambda asks=asks: system.answer(asks, [base] * len(asks)),
            },
            ROUNDS,
        )
        milliseconds = f"{1e3 * seconds['ours']:.0f} ms against {1e3 * seconds['plain']:.0f} ms"
        note = f"{milliseconds}; {same} of {BATCH} answers equal"
        yield Row(
            f"in process, batch of {size}, against plain transformers",
            seconds["plain"] / seconds["ours"],
            f">= {bar}",
            note,
        )


def _split_time(system: NkbSystem, base: Views, texts: list[str]) -> Iterator[Row]:
    """Measure what the parts of an answer take, each by itself."""
    reader = system.reader
    for size in (1, 8, BATCH):
        batch = texts[:size]
        read = reader.read(batch)
        seconds = measure_interleaved(
            {
                "whole": lambda batch=batch: system.answer(
                    [Ask(text) for text in batch], [base] * len(batch)
                ),
                "tokens": lambda batch=batch: [reader.encoder.tokens(text) for text in batch],
                "encoder": lambda batch=batch: reader.encoder.encode(batch),
                "reading": lambda batch=batch: reader.read(batch),
                "decoder": lambda read=read: reader.decoder.generate(
                    read.states, read.mask, max_tokens=MAX_TOKENS
                ),
            },
            ROUNDS,
        )
        parts = {
            "encoder": seconds["encoder"] - seconds["tokens"],
            "decoder": seconds["decoder"],
            "subjects and marks": seconds["reading"] - seconds["encoder"],
            "tokens": seconds["tokens"],
        }
        note = ", ".join(f"{part} {1e3 * value:.1f}" for part, value in parts.items())
        yield Row(f"in process, batch of {size}, without HTTP", 1e3 * seconds["whole"], "", f"ms: {note}")


def _measure_judge(reader: Reader, texts: list[str]) -> Iterator[Row]:
    weights = read_weights(JUDGE / WEIGHTS)
    quick, exact = (PairLayers(reader.encoder, weights, in_8_bits=in_8_bits) for in_8_bits in (True, False))
    pairs = [*islice(combinations(map(reader.scope.judge.tokens, texts), 2), max(PAIR_BATCHES))]
    for size in PAIR_BATCHES:
        seconds = measure_interleaved(
            {
                "quick": lambda size=size: quick(pairs[:size]),
                "exact": lambda size=size: exact(pairs[:size]),
            },
            ROUNDS,
        )
        note = f"{1e3 * seconds['quick'] / size:.1f} ms a pair against {1e3 * seconds['exact'] / size:.1f}"
        ratio = seconds["exact"] / seconds["quick"]
        yield Row(f"the judge, batch of {size}, 8 bits against float32", ratio, ">= 1.5", note)


def _measure_bank(reader: Reader, texts: list[str]) -> Row:
    """Measure whole questions with the bank, and without."""
    t5 = load_t5(reader)
    without = build(t5.config)
    keys = set(without.state_dict())
    without.to(reader.device).load_state_dict({k: v for k, v in t5.state_dict().items() if k in keys})
    sides = {"with": reader.decoder, "without": Decoder(without.eval())}

    def run(decoder: Decoder) -> None:
        read = reader.read(texts)
        decoder.generate(read.states, read.mask, max_tokens=MAX_TOKENS)

    percent = measure_cost({name: lambda d=d: run(d) for name, d in sides.items()}, PAIRS)
    return Row("cost of the bank, batch of 32", percent, "<= 5 %", NOTE)


def _measure_mixed_versions(system: NkbSystem, memory: BankMemory, texts: list[str]) -> Row:
    """Measure requests that all pin different versions, each of which has one more edit than the one before."""
    versions = _versions(memory)
    asks = [Ask(text) for text in texts]
    sides = {
        "mixed": lambda: system.answer(asks, versions),
        "one": lambda: system.answer(asks, [versions[-1]] * BATCH),
    }
    return Row("cost of a batch of 32 different versions", measure_cost(sides, PAIRS), "<= 15 %", NOTE)


def _measure_near(system: NkbSystem, memory: BankMemory) -> Row:
    """Measure questions for places without an edit, near many edits of other places, beside far questions."""
    rng = random.Random(5)
    places = ["".join(rng.sample(SYLLABLES, 4)).title() for _ in range(NEAR_EDITS + 2 * ROUNDS)]
    roles = ("harbour master", "night porter")
    changes = [
        AnswerChange(str(n), f"Who is the {roles[n % 2]} of {place}?", f"Kim {n}")
        for n, place in enumerate(places[:NEAR_EDITS])
    ]
    views = [read_bank(memory, build_gated(memory, changes))]
    near = iter([f"Who is the {roles[0]} of {place}?" for place in places[NEAR_EDITS:]])
    far = iter(questions(2 * ROUNDS, seed=77))
    sides = {
        "near": lambda: system.answer([Ask(next(near))], views),
        "far": lambda: system.answer([Ask(next(far))], views),
    }
    seconds = measure_interleaved(sides, ROUNDS)
    note = f"{1e3 * seconds['near']:.0f} ms against {1e3 * seconds['far']:.0f}, each asked once"
    return Row(
        f"a question near {NEAR_EDITS} edits, beside a far one",
        seconds["near"] / seconds["far"],
        "<= 1.5",
        note,
    )


def _versions(memory: BankMemory) -> list[Views]:
    """Return versions with edits of other questions, so that the answers' lengths stay the same."""
    changes = [
        AnswerChange(str(n), question, "Cusco") for n, question in enumerate(questions(BATCH, seed=99))
    ]
    materials = build_gated(memory, changes)
    return [read_bank(memory, materials[:count]) for count in range(1, len(materials) + 1)]
