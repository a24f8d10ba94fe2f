"""Servers that others wrote, for an upstream: LiteLLM's proxy in a venv of its own, and `transformers serve`.

The venv has OpenAI's newest client, too. `uv` installs it in half a minute with nothing cached.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import torch
import yaml
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.cluster.running import quiet_port, wait_until

UV, PACKAGES = "uv==0.9.30", ("litellm[proxy]==1.108.7", "openai==3.57.0")
INSTALL_S, START_S, STOP_S = 240.0, 120.0, 20.0
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def install(folder: Path) -> Path:
    """Make a venv of LiteLLM and OpenAI's client; return its Python."""
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=INSTALL_S)
    subprocess.run([python, "-m", "pip", "install", "--quiet", UV], check=True, timeout=INSTALL_S)
    command = [folder / "bin" / "uv", "pip", "install", "--quiet", "--python", python, *PACKAGES]
    subprocess.run(command, check=True, timeout=INSTALL_S)
    return python


def make_model(folder: Path) -> None:
    """Write a small random Llama that reads and writes single bytes, with its tokenizer."""
    vocabulary = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(BPE(vocab={token: n for n, token in enumerate(vocabulary)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE
    )
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(vocabulary), bos_token_id=0, eos_token_id=1, **size)
    LlamaForCausalLM(config).save_pretrained(folder)


@contextmanager
def run_transformers(folder: Path) -> Iterator[str]:
    """Run `transformers serve`; its model is the folder."""
    port = quiet_port()
    program = Path(sys.executable).with_name("transformers")
    command = [program, "serve", folder, "--host", "127.0.0.1", "--port", str(port)]
    with _run(command, f"http://127.0.0.1:{port}/v1/models", folder.with_suffix(".log"), HF_HUB_OFFLINE="1"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def run_litellm(
    python: Path, models: Mapping[str, Mapping[str, str]], folder: Path, port: int
) -> Iterator[str]:
    """Run LiteLLM's proxy. models: names and where each is: `model`, `api_base` and `api_key`."""
    config = folder / "litellm.yaml"
    entries = [{"model_name": name, "litellm_params": dict(place)} for name, place in models.items()]
    config.write_text(yaml.safe_dump({"model_list": entries}))
    command = [python.with_name("litellm"), "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    options = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    options["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # it is on loopback
    with _run(command, f"http://127.0.0.1:{port}/health/liveliness", folder / "litellm.log", **options):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def _run(command: Sequence[object], ready_url: str, log: Path, **environment: str) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(
            list(map(str, command)),
            env=os.environ | environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        wait_until(lambda: _answers(ready_url, process, log), START_S, f"{command[0]} to answer")
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(url: str, process: "subprocess.Popen[bytes]", log: Path) -> bool:
    assert process.poll() is None, f"it ended: {log.read_text()}"
    try:
        return httpx.get(url, timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False
