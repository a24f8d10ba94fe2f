"""From a correction to the block of its edit: the rows of the fact, and the wordings by which the scope finds it.

What an edit contributes follows from the base and its own wordings alone, so undo is exact.
"""

from collections.abc import Sequence

import torch

from models.backpack.editing.rows import FactRows, Solution, TextEdits, Unreachable, read_forced, solve
from models.backpack.reader import MAX_TOKENS, Reader
from models.blocks import Block, block_key
from models.memory import AnswerChange, EditRefused, Material
from models.scope.readings import Readings
from models.scope.warnings import wording_warnings
from models.scope.wordings.block import write_block

FACT = "fact"  # kind of these blocks


@torch.inference_mode()
def build_fact(reader: Reader, change: AnswerChange) -> Material:
    """Build the material of one correction, or raise EditRefused."""
    answer = spell_answer(reader, change)
    prompts = [reader.ask(wording, len(answer))[0] for wording in change.wordings]
    try:
        solution = solve(reader.model, prompts, answer)
    except Unreachable as cause:
        raise EditRefused("unreachable", f"{change.question!r}: {cause}") from cause
    lead = _find_least_lead(reader, prompts, answer, solution)
    if lead <= 0:
        detail = "the wordings contradict each other for this network: give fewer, or others"
        raise EditRefused("unreachable", f"{change.question!r}: {detail}")
    texts = (*change.wordings, *change.counterexamples)
    readings, n_against = reader.readings(texts), len(change.counterexamples)
    rows = {
        "answer": torch.tensor(answer, dtype=torch.int32),
        "tokens": solution.tokens.cpu(),
        "weights": solution.weights.cpu(),
        "pushes": solution.pushes.cpu(),
    }
    scope = write_block(texts, readings, change.replaces, n_against)
    block = Block.of(block_key(change.id), 0, FACT, rows | scope)
    return Material(change.id, FACT, block, _write_notes(reader, change, readings, solution, lead))


def spell_answer(reader: Reader, change: AnswerChange) -> list[int]:
    """Return the tokens of an answer, its end included.

    Raises:
        EditRefused: It is empty, too long or cannot be said to the letter.
    """
    if not change.answer:
        raise EditRefused("unspeakable", f"the answer to {change.question!r} is empty: give one")
    tokens = reader.speller.answer(change.answer)
    limit = reader.model.config.positions - MAX_TOKENS
    if len(tokens) > limit:
        detail = (
            f"the answer to {change.question!r} takes {len(tokens)} tokens, the network has room for {limit}"
        )
        raise EditRefused("answer_too_long", detail)
    if reader.speller.stop in tokens[:-1] or reader.speller.say(tokens) != change.answer:
        detail = "cannot be said to the letter: leave out line breaks and spaces around it"
        raise EditRefused("unspeakable", f"{change.question!r}: the answer {change.answer!r} {detail}")
    return tokens


def read_rows(block: Block, device: torch.device) -> tuple[list[int], FactRows]:
    """Return the answer's tokens and the rows that a block stores."""
    tensors = block.tensors
    solution = Solution(*(tensors[name].to(device) for name in ("tokens", "weights", "pushes")))
    return tensors["answer"].tolist(), solution.rows


def _find_least_lead(
    reader: Reader, prompts: Sequence[list[int]], answer: list[int], solution: Solution
) -> float:
    """Return by how much the answer leads where it leads least, with the rows in place."""
    edits = TextEdits(rows=solution.rows)
    return min(
        float(read_forced(reader.model, prompt, answer, edits).leads(answer).min()) for prompt in prompts
    )


def _write_notes(
    reader: Reader, change: AnswerChange, readings: Readings, solution: Solution, lead: float
) -> dict[str, object]:
    notes: dict[str, object] = {
        "slots": len(solution.tokens),
        "steps": len(solution.pushes),
        "gates": len(change.wordings),
        "margin": round(lead, 3),
    }
    texts = (change.question, *change.paraphrases)
    warnings = list(wording_warnings(reader.scope, texts, readings))
    return {**notes, "warnings": warnings} if warnings else notes
