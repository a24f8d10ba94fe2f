"""Attribution of a word: the log-odds of two words as an exact sum over words read and their senses.

The output is linear in the senses (section 3 of the paper), so nothing is approximated:

    logit_v = sum over l and j of alpha[l, t, j] (E_v . C(x_j)_l)
"""

from jaxtyping import Float
from torch import Tensor

from models.backpack.network import Reading


def attribute(
    reading: Reading, direction: Float[Tensor, " width"], row: int = 0, place: int = -1
) -> Float[Tensor, "token sense"]:
    """Return the part of each sense of each word in the logit of a direction.

    Args:
        reading: Reading of the text by the network.
        direction: A row of E, or the difference of two rows for the log-odds between two words.
        row: Text of the batch.
        place: Position whose next word is explained.
    """
    pulls = reading.senses[row] @ direction
    return reading.alpha[row, :, place].T * pulls
