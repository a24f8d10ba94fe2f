"""An inquiry about bias, from its words to its report; and the study of the pack's occupations.

The paper's study asks whether the name of an occupation makes `he` or `she` likelier. The pack has no sentence with a
pronoun, and what it says of an occupation hardly depends on other words, so the study is turned round: two occupations
are compared, and given names stand where the occupations stood. The people have the surnames of people that the pack
does not hold, so that nothing is known of their work, and whatever the given name makes likelier is bias.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import torch

from models.backpack.answering.prompt import Speller, write_exchange, write_prompt
from models.backpack.answering.reader import Reader
from models.backpack.editing.rows import TextEdits
from models.backpack.inspection.bias import Parts, measure_multiplier, read_parts, share_difference
from models.backpack.inspection.words import Word, find_word
from models.backpack.memory import SensesView
from models.packs.pack import Pack
from models.senses import BadInquiry, BiasInquiry, BiasReport, PairBias, check_senses

SLOT = "{word}"
OCCUPATION, PERSON = "occupation", "person"
N_GIVEN_NAMES, N_SURNAMES, N_SENTENCES = 16, 8, 64
MAX_PROMPTS = 512  # prompts with each word filled in
NOTE = (
    "The pack has no pronouns, so its commonest occupations, {first} and {second}, stand for he and she, and {n} given "
    "names for the occupations: people of these names whom the pack does not hold are asked for their occupation."
)


@lru_cache(1)
def load_pack() -> Pack:
    """Load the pack that the checkpoint is trained on."""
    return Pack.load()


@torch.inference_mode()
def measure_bias(reader: Reader, inquiry: BiasInquiry, view: SensesView) -> BiasReport:
    """Return which sense carries the difference of each pair, and what multipliers on it do.

    Raises:
        BadInquiry: A word is several pieces, a text is empty, a multiplier negative, or no prompt has a word.
    """
    model, speller, note = reader.model, reader.speller, ""
    _check_numbers(inquiry, model.config.senses)
    if not inquiry.pairs:
        inquiry, note = build_study(speller, inquiry)
    pairs = [tuple(find_word(speller, word, "pairs") for word in pair) for pair in inquiry.pairs]
    words = [find_word(speller, word, "words") for word in inquiry.words]
    prompts = fill_prompts(inquiry)
    prompt_tokens = _spell(reader, prompts, "prompts")
    tokens = {word.token for word in words} or {token for text in prompt_tokens for token in text}
    warnings = _check_words(words, prompt_tokens)
    edits = None if view.overlay is None else TextEdits(view.overlay)
    sentences = inquiry.sentences or own_sentences()
    read_prompts = list(read_parts(model, prompt_tokens, tokens, edits))
    read_sentences = list(read_parts(model, _spell(reader, sentences, "sentences"), tokens, edits))
    return BiasReport(
        tuple(word.text for word in words),
        tuple(prompts),
        len(sentences),
        note,
        tuple(
            _measure_pair(reader, (first, second), inquiry, read_prompts, read_sentences)
            for first, second in pairs
        ),
        warnings,
    )


def _measure_pair(
    reader: Reader,
    pair: tuple[Word, Word],
    inquiry: BiasInquiry,
    prompts: Sequence[Parts],
    sentences: Sequence[Parts],
) -> PairBias:
    tokens = pair[0].token, pair[1].token
    if tokens[0] == tokens[1]:
        raise BadInquiry(f"{pair[0].text!r} stands on both sides of a pair: name two words", "pairs")
    shares = share_difference(reader.model, prompts, tokens)
    sense = shares[0].sense if inquiry.sense is None else inquiry.sense
    points = tuple(
        measure_multiplier(reader.model, prompts, sentences, tokens, sense, multiplier)
        for multiplier in inquiry.multipliers
    )
    return PairBias((pair[0].text, pair[1].text), shares, sense, points)


def fill_prompts(inquiry: BiasInquiry) -> list[str]:
    """Return the prompts with each word in the place of `{word}`.

    Raises:
        BadInquiry: There are no prompts, or too many.
    """
    if not inquiry.prompts:
        detail = (
            "there is no prompt: give texts that end where the pair is compared, with {word} for each word"
        )
        raise BadInquiry(detail, "prompts")
    prompts = [
        prompt.replace(SLOT, word.strip())
        for prompt in inquiry.prompts
        for word in (inquiry.words if SLOT in prompt else ("",))
    ]
    if not prompts:
        raise BadInquiry("the prompts have {word}, and there is no word: name some", "words")
    if len(prompts) > MAX_PROMPTS:
        detail = f"{len(prompts):,} prompts with their words: {MAX_PROMPTS} can be measured at once"
        raise BadInquiry(detail, "prompts")
    return prompts


def _spell(reader: Reader, texts: Sequence[str], field: str) -> list[list[int]]:
    """Return texts as tokens, spaces at their end left out, for the next word brings its own.

    Raises:
        BadInquiry: A text has no token, or more than the network reads.
    """
    tokens_by_text = [reader.speller.spell(text.rstrip(" ")) for text in texts]
    limit = reader.model.config.positions
    for place, tokens in enumerate(tokens_by_text):
        if not tokens:
            detail = f"number {place + 1} has no token: write the text before the words that are compared"
            raise BadInquiry(detail, field)
        if len(tokens) > limit:
            raise BadInquiry(
                f"number {place + 1} has {len(tokens)} tokens, and {limit} are read: shorten it", field
            )
    return tokens_by_text


def _check_numbers(inquiry: BiasInquiry, n_senses: int) -> None:
    check_senses([] if inquiry.sense is None else [inquiry.sense], n_senses, "sense")
    for multiplier in inquiry.multipliers:
        if not (multiplier >= 0 and math.isfinite(multiplier)):
            detail = f"a multiplier is {multiplier}: weights of senses are never negative; 0 silences a sense"
            raise BadInquiry(detail, "multipliers")


def _check_words(words: Sequence[Word], prompts: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """Return a warning of words that no prompt has.

    Raises:
        BadInquiry: No prompt has any of the words.
    """
    tokens = {token for prompt in prompts for token in prompt}
    missing = [repr(word.text) for word in words if word.token not in tokens]
    if words and len(missing) == len(words):
        detail = f"no prompt has {', '.join(missing)}: write {SLOT} where the words stand"
        raise BadInquiry(detail, "prompts")
    return (f"no prompt has {', '.join(missing)}",) if missing else ()


def build_study(speller: Speller, inquiry: BiasInquiry) -> tuple[BiasInquiry, str]:
    """Return the study of the pack's occupations, and a note that says what it is."""
    pack = load_pack()
    items = [item for item in pack.items() if item.relation.id == OCCUPATION]
    occupations = _find_common(speller, (item.answer for item in items), 2)
    people = [
        entity.label for entity in pack.entities.values() if entity.type == PERSON and " " in entity.label
    ]
    names = _find_common(speller, (person.split()[0] for person in people), N_GIVEN_NAMES)
    if len(occupations) < 2 or not names:
        detail = (
            "the vocabulary has too few of the pack's occupations and names: name pairs, words and prompts"
        )
        raise BadInquiry(detail, "pairs")
    strangers = [
        s.subject.split() for s in pack.strangers if s.relation_id == OCCUPATION and s.split == "test"
    ]
    surnames = [words[-1] for words in strangers if len(words) == 2][:N_SURNAMES]
    question = pack.relations[OCCUPATION]
    known_people = [item for item in items if item.subject.label.split()[0] in names]
    sentences = [write_exchange(question.question(item.subject.label), item.answer) for item in known_people]
    study = BiasInquiry(
        pairs=((occupations[0], occupations[1]),),
        words=tuple(names),
        prompts=tuple(write_prompt(question.question(f"{SLOT} {surname}")) for surname in surnames),
        sentences=(*sentences[:N_SENTENCES], *own_sentences()),
        multipliers=inquiry.multipliers,
        sense=inquiry.sense,
    )
    return study, NOTE.format(n=len(names), first=occupations[0], second=occupations[1])


def _find_common(speller: Speller, words: Iterable[str], limit: int) -> list[str]:
    """Return the commonest words that are one piece behind a space."""
    counts = Counter(words).most_common()
    return [word for word, _ in counts if len(speller.spell(f" {word}")) == 1][:limit]


@lru_cache(1)
def own_sentences() -> tuple[str, ...]:
    """Return questions of the pack with their answers, as the training text has them."""
    probes = load_pack().probes
    return tuple(
        write_exchange(probe.question, probe.answer) for probe in probes[:: len(probes) // N_SENTENCES]
    )
