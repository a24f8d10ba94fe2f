"""What K-BERT refuses, as one tree.

KBertError          every refusal below is one, and a ValueError
  InputRefused      a text that no sentence tree can be made of
  GraphRefused      triples that cannot be a knowledge graph

Files that are not a whole model are a CheckpointError (models/stored), which is a ValueError, too.
"""


class KBertError(ValueError):
    """The sentence says what is wrong and, where it can, what to do."""


class InputRefused(KBertError):
    """An empty text, a length out of range, more separators than a pair has."""


class GraphRefused(KBertError):
    """A subject that cannot be looked up, or more triples than were allowed."""
