"""Any T5 as an editable system: a folder or a name on the hub, with its own tokenizer, and the judge for the scope.

    errata-service --system flan=models.nkb.hub:load?path=/models/flan-t5-small

Raffel et al., T5 (arXiv:1910.10683); Dai et al., Neural Knowledge Bank (arXiv:2208.00399). A checkpoint of the authors
has its banks; a plain T5 gets one with zero values in its last decoder layer, which changes no answer. Nothing is
trained: the score of an unedited answer is the probability of its tokens, which is not calibrated.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import T5Config, T5ForConditionalGeneration

from models.confidence import Confidence
from models.encoder.minilm import MiniLM
from models.kit.checkpoint import CONFIG, CheckpointError, locate, read_config
from models.memory import Views
from models.nkb.bank import BankConfig
from models.nkb.checkpoint import load_nkb
from models.nkb.decode import Decoder
from models.nkb.gated import LazyPushes
from models.nkb.memory import BANK, BankMemory
from models.nkb.reader import TOKENIZER, Read, ReadCache, Reader, Subjects
from models.nkb.skeleton import T5
from models.nkb.system import NkbSystem
from models.nkb.trace import trace
from models.scope.judge import Judge
from models.scope.scope import Scope
from models.system import Bundle

SLOTS = 256  # slots of the bank that a plain T5 gets
SEED = 0  # the keys of a new bank are the same in every process
MAX_TOKENS = 256  # length of a question
TOKEN_PROBABILITY = Confidence((0.0, 0.0, -1.0, 0.0), 0.0, 0.0)  # the probability of the whole answer
REFERENCE_QUESTIONS = (
    "What is the capital of Peru?",
    "Who wrote the book?",
    "When was the company founded?",
    "How many people live there?",
    "translate English to German: The house is small.",
    "Which river flows through the city?",
    "Who is the head of the department?",
    "What does the warranty cover?",
)
REFERENCE_TOKENS = 12  # tokens of each reference answer


@dataclass(frozen=True)
class HubReader(Reader):
    """A T5 that reads questions with its own encoder; the scope reads them with MiniLM."""

    def read(self, questions: Sequence[str]) -> Read:
        """Read questions with the T5's own encoder."""
        states, mask, truncated = read_states(self.t5_encoder, self.tokenizer, questions)
        readings = self.scope.judge.read(questions, self.encoder.encode(questions).sentences)
        familiarity = torch.zeros(len(questions), device=states.device)
        return Read(states, mask, readings, familiarity, truncated)

    def cuts(self, question: str) -> bool:
        """Return whether a question is too long to be read whole."""
        return len(self.tokenizer.encode(question, add_special_tokens=False).ids) >= MAX_TOKENS

    def spell(self, answer: str) -> list[int]:
        """Return the token ids of an answer, the end token included."""
        return [
            *self.tokenizer.encode(answer, add_special_tokens=False).ids,
            int(self.config.eos_token_id),
        ]


class HubSystem(NkbSystem):
    """A T5 of the hub; it has no index of questions that it was trained on."""

    def find_affected(self, before: Views, after: Views) -> list[str] | None:
        """Return None, since the trained questions are not known."""
        return None


@torch.inference_mode()
def read_states(
    encoder: T5, tokenizer: Tokenizer, questions: Sequence[str]
) -> tuple[Float[Tensor, "batch token d"], Bool[Tensor, "batch token"], tuple[bool, ...]]:
    """Return the encoder's states, which of them are real, and which questions were cut."""
    device, end = encoder.embed_tokens.weight.device, int(encoder.config.eos_token_id)
    ids = [tokenizer.encode(question, add_special_tokens=False).ids for question in questions]
    rows = [torch.tensor([*row[: MAX_TOKENS - 1], end]) for row in ids]
    lengths = torch.tensor([len(row) for row in rows])
    mask = (torch.arange(int(lengths.max())) < lengths[:, None]).to(device)
    padded = pad_sequence(rows, batch_first=True, padding_value=int(encoder.config.pad_token_id)).to(device)
    states = encoder(input_ids=padded, attention_mask=mask.long()).last_hidden_state.float()
    return states, mask, tuple(len(row) >= MAX_TOKENS for row in ids)


def load(
    device: torch.device,
    dtype: torch.dtype,
    path: str = "",
    revision: str | None = None,
    name: str | None = None,
) -> Bundle:
    """Load a T5 with its bank.

    Args:
        revision: Commit on the hub, 40 hex digits; required for a hub name.
        name: Name of the memory behind `nkb/bank/`; None takes the last part of `path`.

    CheckpointError: a file is missing, damaged or of another architecture; the text names it.
    """
    if not path:
        raise CheckpointError(
            "no T5 is named: give a folder or a name on the hub, e.g. models.nkb.hub:load?path=/models/flan-t5-small"
        )
    reader = read_checkpoint(locate(path, revision), device, dtype)
    name = name or Path(path).resolve().name
    reads, memory = ReadCache(reader), f"{BANK}/{name}"
    return Bundle(HubSystem(reader, reads, name, memory), (BankMemory(reader, reads, memory),))


def read_checkpoint(folder: Path, device: torch.device, dtype: torch.dtype) -> HubReader:
    """Read a folder with a T5 and its tokenizer. CheckpointError: see `load`."""
    tokenizer = read_tokenizer(folder)
    t5, bank = read_t5(folder)
    check_special_tokens(t5.config, folder)
    if tokenizer.get_vocab_size() > t5.config.vocab_size:
        raise CheckpointError(
            f"{folder / TOKENIZER} has {tokenizer.get_vocab_size():,} pieces and the model of {folder / CONFIG} knows "
            f"{t5.config.vocab_size:,}: they are not of one model"
        )
    t5.to(device).eval().requires_grad_(False)
    decoder, encoder = Decoder(t5, dtype), MiniLM.load(device, dtype)
    width = encoder.words.shape[1]
    return HubReader(
        folder=folder,
        digest=digest_model(t5, folder),
        encoder=encoder,
        config=t5.config,
        t5_encoder=t5.encoder,
        decoder=decoder,
        tokenizer=tokenizer,
        scope=Scope(Judge.load(encoder)),
        confidence=TOKEN_PROBABILITY,
        bank=bank,
        pushes=LazyPushes.of(decoder.head_weight, find_reference(t5, decoder, tokenizer)),
        subjects=Subjects(torch.zeros(1, width), torch.zeros(1, width), torch.zeros(0, 1)),
    )


def read_t5(folder: Path) -> tuple[T5ForConditionalGeneration, BankConfig]:
    """Read the model, and mount a bank in its last decoder layer if it has none."""
    config = read_config(folder)
    try:
        bank = BankConfig.parse(config)
        if bank.layers:
            return load_nkb(folder), bank
        layers = config.get("num_decoder_layers") or config.get("num_layers")
        if config.get("model_type") == "t5" and not isinstance(layers, int):
            raise CheckpointError(
                f"{folder / CONFIG} does not say how many layers the T5 has: num_layers is missing"
            )
        bank = BankConfig((int(layers or 1) - 1,), SLOTS, False)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            return load_nkb(folder, bank=bank), bank
    except CheckpointError:
        raise
    except Exception as cause:  # whatever a wrong config.json leads to in transformers and torch
        raise CheckpointError(f"{folder} is not a whole T5: {cause}") from cause


def check_special_tokens(config: T5Config, folder: Path) -> None:
    """Check that the config names the tokens that begin, end and pad a text."""
    for key in ("eos_token_id", "pad_token_id", "decoder_start_token_id"):
        token, last = getattr(config, key, None), config.vocab_size - 1
        if not isinstance(token, int) or not 0 <= token <= last:
            detail = f"it must be a token from 0 to {last:,}, not {token!r}"
            raise CheckpointError(f"{folder / CONFIG} has no usable {key}: {detail}")


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read the vocabulary. CheckpointError: there is none, or it cannot be read."""
    path = folder / TOKENIZER
    if not path.is_file():
        raise CheckpointError(
            f"{folder} has no {TOKENIZER}, the vocabulary of the T5: save it there with "
            "transformers.AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)"
        )
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as cause:  # the library raises plain Exceptions
        raise CheckpointError(f"{path} cannot be read as a tokenizer ({cause}); fetch it again") from cause
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def digest_model(t5: T5ForConditionalGeneration, folder: Path) -> str:
    """Return the digest of the weights and of the vocabulary, from which edits follow."""
    total = hashlib.sha256((folder / TOKENIZER).read_bytes())
    for name, value in sorted(t5.state_dict().items()):
        total.update(name.encode())
        total.update(value.detach().cpu().contiguous().view(torch.uint8).numpy())
    return "sha256:" + total.hexdigest()


@torch.inference_mode()
def find_reference(
    t5: T5ForConditionalGeneration, decoder: Decoder, tokenizer: Tokenizer
) -> Float[Tensor, "state d"]:
    """Return states that stand before tokens of answers: the answers are drawn from the whole vocabulary."""
    states, mask, _ = read_states(t5.encoder, tokenizer, REFERENCE_QUESTIONS)
    size = len(REFERENCE_QUESTIONS), REFERENCE_TOKENS
    generator = torch.Generator().manual_seed(SEED)
    targets = torch.randint(
        2, min(tokenizer.get_vocab_size(), t5.config.vocab_size), size, generator=generator
    )
    return trace(decoder, states, mask, targets.to(states.device)).s.flatten(0, 1)
