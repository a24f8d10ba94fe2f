"""The command line: every setting has a flag, and a wrong argument ends in usage and status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.__main__ import GROUPS, parse
from service.config import Settings

FROM_ENVIRONMENT = {"admin_key_sha256", "redis_url"}
BESIDE_ANOTHER = {"max_replicas", "oidc"}  # --replicas 1-4, --oidc-issuer and so on


def test_every_setting_but_a_secret_has_a_flag_and_a_description() -> None:
    flags = {name for names in GROUPS.values() for name in names.split() if not name.startswith("oidc_")}
    assert flags == Settings.model_fields.keys() - FROM_ENVIRONMENT - BESIDE_ANOTHER
    assert all(Settings.model_fields[name].description for name in flags)


def test_words_become_the_settings_of_their_names() -> None:
    words = """--system a=m:f --system b=m.n:g --device cpu --device b=cuda:1 --proxy 10.0.0.0/8 --auto-grow-bank
        --oidc-issuer https://x --oidc-audience y --max-concurrent 3 --trace-sample-rate 0.5 --tls-cert c.pem"""
    assert parse(words.split()) == parse([]) | {
        "systems": {"a": "m:f", "b": "m.n:g"},
        "device": ["cpu", "b=cuda:1"],
        "proxies": ["10.0.0.0/8"],
        "auto_grow_bank": True,
        "oidc": {"issuer": "https://x", "audience": "y"},
        "max_concurrent": 3,
        "trace_sample_rate": 0.5,
        "tls_cert": Path("c.pem").absolute(),  # the process that reads it may run in another folder
    }


@pytest.mark.parametrize(
    "words", [["--port", "x"], ["--system", "nkp"], ["--system", "=m:f"], ["start"], ["--prot", "1"]]
)
def test_a_wrong_word_ends_with_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(words)
    assert end.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_help_names_the_environment_and_has_each_default_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "ERRATA_REDIS_URL" in text
    assert "ERRATA_ADMIN_KEY" in text
    assert "--device DEVICE" in text
    assert "(default: None)" not in text
