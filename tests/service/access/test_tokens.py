"""Tokens of a real OpenID Connect issuer in a process of its own, and those that somebody else made."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from service.access import issuer_keys
from service.access.caller import Caller
from service.access.issuer_keys import KEPT_S, PAUSE_S, IssuerKeys
from service.access.tokens import Claims, OidcTokens
from service.errors import NotReady, Unauthorized
from tests.cluster.running import quiet_port, wait_until

AUDIENCE, SCOPES = "errata", "roles"
ANNA = {"sub": "anna", SCOPES: ["errata:ask", "errata:edit", "payroll:admin"], "email": "anna@x.org"}


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Issuer:
    def __init__(self, port: int, expires_in_s: int = 600) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._words = [
            "--port",
            str(port),
            "--user-claims",
            json.dumps(ANNA),
            "--token-max-age",
            str(expires_in_s),
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        """With keys that it makes anew at every start."""
        words = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", *self._words]
        process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
        )
        try:
            wait_until(self._answers, 20, "the issuer to start")
            yield
        finally:
            process.kill()
            process.wait()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/jwks", trust_env=False).is_success
        except httpx.HTTPError:
            return False

    def token(self, sub: str = "anna", audience: str = AUDIENCE) -> str:
        """By the authorization code flow, as a person's browser and an application go through it."""
        back = "http://127.0.0.1:1/back"
        wanted = {
            "client_id": audience,
            "response_type": "code",
            "redirect_uri": back,
            "scope": "openid email",
        }
        with httpx.Client(base_url=self.url, trust_env=False) as http:
            agreed = http.post("/oauth2/authorize", params=wanted, data={"sub": sub})
            code = parse_qs(urlsplit(agreed.headers["location"]).query)["code"][0]
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back}
            got = http.post("/oauth2/token", data=form, auth=(audience, "any"))
        token: str = got.json()["id_token"]
        return token

    def tokens(self, clock: Any = time.monotonic, name: str = "sub") -> OidcTokens:
        claims = Claims(self.url, AUDIENCE, SCOPES, "errata:", name)
        return OidcTokens(claims, IssuerKeys(self.url, clock))


@pytest.fixture(scope="module")
def port() -> int:
    return quiet_port()


@pytest.fixture(scope="module")
def issuer(port: int) -> Iterator[Issuer]:
    issuer = Issuer(port)
    with issuer.running():
        yield issuer


async def test_whom_the_issuer_vouches_for_may_what_the_claim_says(issuer: Issuer) -> None:
    assert await issuer.tokens().caller(issuer.token()) == Caller("oidc:anna", ("ask", "edit"), "token")


async def test_the_author_is_the_claim_that_the_operator_chose(issuer: Issuer) -> None:
    caller = await issuer.tokens(name="email").caller(issuer.token())
    assert caller.name == "oidc:anna@x.org"
    with pytest.raises(Unauthorized, match="nickname"):
        await issuer.tokens(name="nickname").caller(issuer.token())


async def test_one_without_scopes_may_nothing(issuer: Issuer) -> None:
    assert (await issuer.tokens().caller(issuer.token("ben"))).scopes == ()


async def test_a_token_for_another_service_is_refused(issuer: Issuer) -> None:
    with pytest.raises(Unauthorized, match=r"[Aa]udience"):
        await issuer.tokens().caller(issuer.token(audience="payroll"))


async def test_a_token_of_another_issuer_is_refused(issuer: Issuer) -> None:
    other = OidcTokens(
        Claims("http://127.0.0.1:1", AUDIENCE, SCOPES, "errata:", "sub"), IssuerKeys(issuer.url)
    )
    with pytest.raises(Unauthorized, match=r"[Ii]ssuer"):
        await other.caller(issuer.token())


def signed(key: Any, algorithm: str, kid: str | None, **claims: Any) -> str:
    whole = {"iss": "", "aud": AUDIENCE, "sub": "mallory", "exp": time.time() + 60} | claims
    return jwt.encode(whole, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


async def test_what_others_signed_is_refused(issuer: Issuer) -> None:
    kid = jwt.get_unverified_header(issuer.token()).get("kid")
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    known = await IssuerKeys(issuer.url).get(kid)
    public = known.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header, _, rest = issuer.token().partition(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    secret = jwt.utils.base64url_encode(b"x").decode()
    forged = [
        signed(stranger, "RS256", kid, iss=issuer.url),
        signed(stranger, "RS256", "a-kid-nobody-has", iss=issuer.url),
        f"{unsigned}.{rest.partition('.')[0]}.",
        f"{header}.{rest.partition('.')[0]}.{secret}",
        _with_shared_secret(public, kid, issuer.url),
    ]
    tokens = issuer.tokens()
    for token in forged:
        with pytest.raises(Unauthorized):
            await tokens.caller(token)
    assert (await tokens.caller(issuer.token())).name == "oidc:anna"


def _with_shared_secret(public: bytes, kid: str | None, issuer: str) -> str:
    """The issuer's public key taken for a secret, which careless readers believe."""
    import hashlib
    import hmac

    def part(content: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()

    claims = {"iss": issuer, "aud": AUDIENCE, "sub": "mallory", "exp": time.time() + 60}
    said = f"{part({'alg': 'HS256', 'kid': kid})}.{part(claims)}"
    made = hmac.new(public, said.encode(), hashlib.sha256).digest()
    return f"{said}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


@pytest.mark.parametrize("text", ["a.b.c", "..", "ey.ey.ey", "é.é.é"])
async def test_what_is_no_token_is_refused_in_words(issuer: Issuer, text: str) -> None:
    with pytest.raises(Unauthorized, match="not good here"):
        await issuer.tokens().caller(text)


async def test_new_keys_of_the_issuer_are_found_and_old_ones_forgotten() -> None:
    issuer, clock = Issuer(quiet_port()), Clock()
    tokens = issuer.tokens(clock)
    with issuer.running():
        old = issuer.token()
        assert (await tokens.caller(old)).name == "oidc:anna"
    with issuer.running():
        new = issuer.token()
        clock.now += PAUSE_S + KEPT_S
        assert (await tokens.caller(new)).name == "oidc:anna"
        with pytest.raises(Unauthorized):
            await tokens.caller(old)


async def test_with_the_issuer_gone_its_known_keys_go_on_and_unknown_ones_are_told_why() -> None:
    issuer, clock = Issuer(quiet_port()), Clock()
    tokens, late = issuer.tokens(clock), issuer.tokens(clock)
    with issuer.running():
        token = issuer.token()
        await tokens.caller(token)
    clock.now += 2 * KEPT_S
    assert (await tokens.caller(token)).name == "oidc:anna"
    with pytest.raises(NotReady, match="cannot be reached"):
        await late.caller(token)


async def test_a_token_ends_when_the_issuer_said() -> None:
    issuer = Issuer(quiet_port(), expires_in_s=-40)
    with issuer.running(), pytest.raises(Unauthorized, match="expired"):
        await issuer.tokens().caller(issuer.token())


async def test_many_forged_tokens_are_few_requests_to_the_issuer(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    fetch = IssuerKeys._fetched

    async def counted(keys: IssuerKeys) -> Any:
        nonlocal asked
        asked += 1
        return await fetch(keys)

    monkeypatch.setattr(IssuerKeys, "_fetched", counted)
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    tokens = issuer.tokens(Clock())
    for number in range(50):
        with pytest.raises(Unauthorized):
            await tokens.caller(signed(stranger, "RS256", f"kid-{number}", iss=issuer.url))
    assert asked == 1


async def test_an_issuer_that_hangs_holds_up_nobody_whose_key_is_known(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    tokens, token = issuer.tokens(clock), issuer.token()
    await tokens.caller(token)
    clock.now += 2 * KEPT_S
    tries = 0

    async def hangs(keys: IssuerKeys) -> Any:
        nonlocal tries
        tries += 1
        await asyncio.sleep(3_600)

    monkeypatch.setattr(IssuerKeys, "_fetched", hangs)
    monkeypatch.setattr(issuer_keys, "PATIENCE_S", 0.05)
    monkeypatch.setattr(issuer_keys, "LIMIT_S", 0.2)
    begun = time.monotonic()
    callers = await asyncio.gather(*(tokens.caller(token) for _ in range(20)))
    assert {caller.name for caller in callers} == {"oidc:anna"}
    assert time.monotonic() - begun < 1.0
    await asyncio.sleep(0.3)
    await tokens.caller(token)
    assert tries == 1, "and it is left alone for a while"


@pytest.mark.parametrize(
    "said", [None, 7, True, {"errata:admin": False}, ["errata:ask", None]], ids=lambda said: json.dumps(said)
)
def test_scopes_that_are_no_words_are_refused(said: Any) -> None:
    with pytest.raises(Unauthorized, match="neither words nor a list"):
        Claims("https://issuer", AUDIENCE, SCOPES, "errata:", "sub").scopes_of({SCOPES: said})


async def test_keys_to_encrypt_with_sign_nothing_and_keys_from_elsewhere_are_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    public = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public))
    keys = [{**jwk, "kid": "signs", "use": "sig"}, {**jwk, "kid": "encrypts", "use": "enc"}]
    where = "https://issuer/jwks"

    async def read(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
        return {"keys": keys} if "jwks" in url else {"issuer": "https://issuer", "jwks_uri": where}

    monkeypatch.setattr(issuer_keys, "_json", read)
    assert (await IssuerKeys("https://issuer").get("signs")).key_id == "signs"
    with pytest.raises(Unauthorized, match="encrypts"):
        await IssuerKeys("https://issuer").get("encrypts")
    where = "http://issuer/jwks"
    with pytest.raises(NotReady):
        await IssuerKeys("https://issuer").get("signs")
