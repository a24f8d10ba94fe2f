"""The longest of overlapping names counts, and the first of equal ones."""

from models.graph.knowledge import Mention
from models.kit.text import keep_longest


def test_of_names_that_overlap_the_longest_counts_in_the_order_of_the_text() -> None:
    spans = [(20, 24), (4, 11), (4, 7), (9, 13), (30, 32), (31, 33)]
    mentions = [Mention(start, end, ()) for start, end in spans]
    longest = keep_longest(mentions, lambda mention: mention)
    assert [(mention.start, mention.end) for mention in longest] == [(4, 11), (20, 24), (30, 32)]
