"""K-BERT: a BERT that reads a sentence tree, a text with facts of a knowledge graph hung on its words."""

from models.checkpoint import CheckpointError
from models.kbert.batch import Batch, collate
from models.kbert.checkpoint import load_classifier, load_encoder, load_pointer, load_tagger, stored, write
from models.kbert.classifier import Classifier
from models.kbert.config import EncoderConfig, ReadingConfig
from models.kbert.encoder import Encoder
from models.kbert.errors import GraphRefused, InputRefused, KBertError
from models.kbert.graph import NO_GRAPH, Fact, Graph, Knowledge
from models.kbert.pointer import Answer, Pointer, answers
from models.kbert.reader import Reader
from models.kbert.row import Row
from models.kbert.tagger import Tagger
from models.kbert.tokens import Characters, WordPieces, read_tokens
from models.kbert.triples import Triple, parse_spo, read_spo
from models.kbert.words import LongestMatch, Word

__all__ = [
    "NO_GRAPH",
    "Answer",
    "Batch",
    "Characters",
    "CheckpointError",
    "Classifier",
    "Encoder",
    "EncoderConfig",
    "Fact",
    "Graph",
    "GraphRefused",
    "InputRefused",
    "KBertError",
    "Knowledge",
    "LongestMatch",
    "Pointer",
    "Reader",
    "ReadingConfig",
    "Row",
    "Tagger",
    "Triple",
    "Word",
    "WordPieces",
    "answers",
    "collate",
    "load_classifier",
    "load_encoder",
    "load_pointer",
    "load_tagger",
    "parse_spo",
    "read_spo",
    "read_tokens",
    "stored",
    "write",
]
