"""A closed service, with keys and TLS."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import trustme

from tests.cluster.running import Service

UNUSED_ADDRESS = "http://127.0.0.1:9"  # the port of the discard protocol, where no server listens


class Closed(Service):
    """authority: who vouches for it."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        certificate = self.authority.issue_cert("127.0.0.1")
        cert, key = folder / "cert.pem", folder / "key.pem"
        certificate.cert_chain_pems[0].write_to_path(cert)
        certificate.private_key_pem.write_to_path(key)
        tls = ["--tls-cert", str(cert), "--tls-key", str(key)]
        super().__init__(
            folder / "var", words=[*tls, "--anonymous-access", "none", "--traces", UNUSED_ADDRESS]
        )

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def http(self, key: bool = True) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.key}"} if key else {}
        return httpx.Client(
            base_url=self.url, headers=headers, timeout=30, verify=self.trust, trust_env=False
        )


@pytest.fixture(scope="package")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    closed = Closed(tmp_path_factory.mktemp("closed"))
    try:
        closed.start()
        yield closed
    finally:
        closed.kill_everything()


@pytest.fixture
def ca_trust(closed: Closed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what reads SSL_CERT_FILE."""
    closed.authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
