"""What a curator is warned of in an edit's wordings: where gates may miss other words, or open for other questions."""

from collections.abc import Iterator, Sequence

from jaxtyping import Float
from torch import Tensor

from models.scope.language import is_in_another_language, is_in_another_script
from models.scope.network import ASPECT, Scope

MIN_KIND_COSINE = 0.68  # nearest kind's cosine: 0.5 % of held phrasings of the relations lie below
MIN_LOGIT = (
    -2.0
)  # log-odds: less than 0.5 % of held phrasings lie below, 99 % of questions for something else


def wording_warnings(
    scope: Scope,
    kinds: Float[Tensor, "kind aspect"],
    wordings: Sequence[str],
    keys: Float[Tensor, "wording key"],
) -> Iterator[str]:
    """Whole sentences.

    Args:
        kinds: unit relation readings of the phrasings that gates learned from.
        wordings: the question and then its paraphrases.
        keys: of the wordings, in order.
    """
    if is_in_another_script(wordings[0]):
        yield "the gates compare this script word for word: other words for the same question need to be given, too"
    elif is_in_another_language(wordings[0]):
        yield (
            "this does not read like English, which the gates learned from: other words for the same question need to "
            "be given, too, in English as well if it is asked in English"
        )
    elif float((kinds @ keys[0, ASPECT : 2 * ASPECT]).max()) < MIN_KIND_COSINE:
        yield (
            "the gates learned from no question of this kind (short English ones about a thing's properties): "
            "wordings that are not given may be missed, or near questions taken for it; give several, try a dry run"
        )
    logits = scope.logit(scope.cosines_of_pairs(keys[:1].expand_as(keys[1:]), keys[1:]))
    for wording, logit in zip(wordings[1:], logits.tolist(), strict=True):
        if logit < MIN_LOGIT:
            yield f"{wording!r} reads like another question: it is answered alike now; is it the same one?"
