"""Tokens of a real OpenID Connect issuer in a separate process, and forged ones."""

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from service.access import oidc
from service.access.caller import Caller
from service.access.oidc import MAX_AGE_S, MIN_PAUSE_S, Claims, Jwks, OidcVerifier
from service.errors import NotReady, Unauthorized
from tests.cluster.running import quiet_port, wait_until
from tests.service.access.conftest import Clock
from tests.service.parts import stopwatch

AUDIENCE, SCOPES = "errata", "roles"
ANNA = {"sub": "anna", SCOPES: ["errata:ask", "errata:edit", "payroll:admin"], "email": "anna@x.org"}


class Issuer:
    def __init__(self, port: int, expires_in_s: int = 600) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._arguments = [
            "--port",
            str(port),
            "--user-claims",
            json.dumps(ANNA),
            "--token-max-age",
            str(expires_in_s),
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run an issuer that makes new keys at every start."""
        arguments = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", *self._arguments]
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
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
        """Get a token by the authorization code flow, as a person's browser and an application do."""
        back = "http://127.0.0.1:1/back"
        parameters = {
            "client_id": audience,
            "response_type": "code",
            "redirect_uri": back,
            "scope": "openid email",
        }
        with httpx.Client(base_url=self.url, trust_env=False) as http:
            consent = http.post("/oauth2/authorize", params=parameters, data={"sub": sub})
            code = parse_qs(urlsplit(consent.headers["location"]).query)["code"][0]
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back}
            reply = http.post("/oauth2/token", data=form, auth=(audience, "any"))
        token: str = reply.json()["id_token"]
        return token

    def verifier(self, clock: Any = time.monotonic, name: str = "sub") -> OidcVerifier:
        claims = Claims(self.url, AUDIENCE, SCOPES, "errata:", name)
        return OidcVerifier(claims, Jwks(self.url, clock=clock))


@pytest.fixture(scope="module")
def port() -> int:
    return quiet_port()


@pytest.fixture(scope="module")
def issuer(port: int) -> Iterator[Issuer]:
    issuer = Issuer(port)
    with issuer.running():
        yield issuer


async def test_whom_the_issuer_vouches_for_may_what_the_claim_says(issuer: Issuer) -> None:
    assert await issuer.verifier().verify(issuer.token()) == Caller("oidc:anna", ("ask", "edit"), "token")


async def test_the_author_is_the_claim_that_the_operator_chose(issuer: Issuer) -> None:
    caller = await issuer.verifier(name="email").verify(issuer.token())
    assert caller.name == "oidc:anna@x.org"
    with pytest.raises(Unauthorized, match="nickname"):
        await issuer.verifier(name="nickname").verify(issuer.token())


async def test_one_without_scopes_may_nothing(issuer: Issuer) -> None:
    assert (await issuer.verifier().verify(issuer.token("ben"))).scopes == ()


async def test_a_token_for_another_service_is_refused(issuer: Issuer) -> None:
    with pytest.raises(Unauthorized, match=r"[Aa]udience"):
        await issuer.verifier().verify(issuer.token(audience="payroll"))


async def test_a_token_of_another_issuer_is_refused(issuer: Issuer) -> None:
    other = OidcVerifier(Claims("http://127.0.0.1:1", AUDIENCE, SCOPES, "errata:", "sub"), Jwks(issuer.url))
    with pytest.raises(Unauthorized, match=r"[Ii]ssuer"):
        await other.verify(issuer.token())


def sign(key: Any, algorithm: str, kid: str | None, **claims: Any) -> str:
    payload = {"iss": "", "aud": AUDIENCE, "sub": "mallory", "exp": time.time() + 60} | claims
    return jwt.encode(payload, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


async def test_what_others_signed_is_refused(issuer: Issuer) -> None:
    kid = jwt.get_unverified_header(issuer.token()).get("kid")
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key = await Jwks(issuer.url).get(kid, "RS256")
    public = key.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header, _, rest = issuer.token().partition(".")
    unsigned_header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    secret = jwt.utils.base64url_encode(b"x").decode()
    forgeries = [
        sign(stranger, "RS256", kid, iss=issuer.url),
        sign(stranger, "RS256", "a-kid-nobody-has", iss=issuer.url),
        f"{unsigned_header}.{rest.partition('.')[0]}.",
        f"{header}.{rest.partition('.')[0]}.{secret}",
        with_shared_secret(public, kid, issuer.url),
    ]
    verifier = issuer.verifier()
    for token in forgeries:
        with pytest.raises(Unauthorized):
            await verifier.verify(token)
    assert (await verifier.verify(issuer.token())).name == "oidc:anna"


def with_shared_secret(public: bytes, kid: str | None, issuer: str) -> str:
    """Sign a token with the issuer's public key as the secret, which careless verifiers accept."""
    import hashlib
    import hmac

    def part(content: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()

    claims = {"iss": issuer, "aud": AUDIENCE, "sub": "mallory", "exp": time.time() + 60}
    message = f"{part({'alg': 'HS256', 'kid': kid})}.{part(claims)}"
    digest = hmac.new(public, message.encode(), hashlib.sha256).digest()
    return f"{message}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@pytest.mark.parametrize("text", ["a.b.c", "..", "ey.ey.ey", "é.é.é"])
async def test_what_is_no_token_is_refused_in_words(issuer: Issuer, text: str) -> None:
    with pytest.raises(Unauthorized, match="not good here"):
        await issuer.verifier().verify(text)


async def test_new_keys_of_the_issuer_are_found_and_old_ones_forgotten() -> None:
    issuer, clock = Issuer(quiet_port()), Clock()
    verifier = issuer.verifier(clock)
    with issuer.running():
        old = issuer.token()
        assert (await verifier.verify(old)).name == "oidc:anna"
    with issuer.running():
        new = issuer.token()
        clock.now += MIN_PAUSE_S + MAX_AGE_S
        assert (await verifier.verify(new)).name == "oidc:anna"
        with pytest.raises(Unauthorized):
            await verifier.verify(old)


async def test_with_the_issuer_gone_its_known_keys_go_on_and_unknown_ones_are_told_why() -> None:
    issuer, clock = Issuer(quiet_port()), Clock()
    verifier, late = issuer.verifier(clock), issuer.verifier(clock)
    with issuer.running():
        token = issuer.token()
        await verifier.verify(token)
    clock.now += 2 * MAX_AGE_S
    assert (await verifier.verify(token)).name == "oidc:anna"
    with pytest.raises(NotReady, match="cannot be reached"):
        await late.verify(token)


async def test_a_token_ends_when_the_issuer_said() -> None:
    issuer = Issuer(quiet_port(), expires_in_s=-40)
    with issuer.running(), pytest.raises(Unauthorized, match="expired"):
        await issuer.verifier().verify(issuer.token())


async def test_many_forged_tokens_are_few_requests_to_the_issuer(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_fetches = 0
    fetch = oidc.fetch_keys

    async def count(*source: Any) -> Any:
        nonlocal n_fetches
        n_fetches += 1
        return await fetch(*source)

    monkeypatch.setattr(oidc, "fetch_keys", count)
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    verifier = issuer.verifier(Clock())
    for number in range(50):
        with pytest.raises(Unauthorized):
            await verifier.verify(sign(stranger, "RS256", f"kid-{number}", iss=issuer.url))
    assert n_fetches == 1


async def test_an_issuer_that_hangs_holds_up_nobody_whose_key_is_known(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    verifier, token = issuer.verifier(clock), issuer.token()
    await verifier.verify(token)
    clock.now += 2 * MAX_AGE_S
    n_fetches = 0

    async def hang(*_: Any) -> Any:
        nonlocal n_fetches
        n_fetches += 1
        await asyncio.sleep(3_600)

    monkeypatch.setattr(oidc, "fetch_keys", hang)
    monkeypatch.setattr(oidc, "STALE_WAIT_S", 0.05)
    monkeypatch.setattr(oidc, "TIMEOUT_S", 0.2)
    async with stopwatch() as seconds:
        callers = await asyncio.gather(*(verifier.verify(token) for _ in range(20)))
        assert {caller.name for caller in callers} == {"oidc:anna"}
        assert seconds() < 1.0
    await asyncio.sleep(0.3)
    await verifier.verify(token)
    assert n_fetches == 1, "and it is left alone for a while"


@pytest.mark.parametrize(
    "claim",
    [None, 7, True, {"errata:admin": False}, ["errata:ask", None]],
    ids=lambda claim: json.dumps(claim),
)
def test_scopes_that_are_no_words_are_refused(claim: Any) -> None:
    with pytest.raises(Unauthorized, match="neither words nor a list"):
        Claims("https://issuer", AUDIENCE, SCOPES, "errata:", "sub").read_scopes({SCOPES: claim})


@pytest.mark.parametrize(
    "sub",
    ["a\x1b[2J", "a\nb", "a\u202eb", "x" * 256, "x" * 9_000, "", "  ", "\u200b", None, 7, ["anna"]],
    ids=ascii,
)
def test_a_name_that_would_harm_whoever_reads_it_is_refused(sub: Any) -> None:
    with pytest.raises(Unauthorized, match="names its owner"):
        Claims("https://issuer", AUDIENCE, SCOPES, "errata:", "sub").read_name({"sub": sub})


@pytest.mark.parametrize("sub", ["auth0|5f7c", "x" * 255, "J\u00fcrgen M\u00fcller", "admin", "a@x.org"])
def test_a_name_as_issuers_give_them_is_good_and_has_its_prefix(sub: str) -> None:
    assert (
        Claims("https://issuer", AUDIENCE, SCOPES, "errata:", "sub").read_name({"sub": sub}) == f"oidc:{sub}"
    )


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the documents of https://issuer: its description, and the keys that it points to."""
    public = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public))
    keys = [{**jwk, "kid": "signs", "use": "sig"}, {**jwk, "kid": "encrypts", "use": "enc"}]
    about = {"issuer": "https://issuer", "jwks_uri": "https://issuer/jwks"}

    async def read(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
        return about if url.endswith(oidc.DISCOVERY) else {"keys": keys}

    monkeypatch.setattr(oidc, "get_json", read)
    return about


async def test_keys_to_encrypt_with_sign_nothing(documents: dict[str, Any]) -> None:
    assert (await Jwks("https://issuer").get("signs", "RS256")).key_id == "signs"
    with pytest.raises(Unauthorized, match="encrypts"):
        await Jwks("https://issuer").get("encrypts", "RS256")


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
RSA_JWK = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA.public_key()))
CURVE_JWK = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(CURVE.public_key()))


def without(jwk: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in jwk.items() if name not in names}


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS512", "ES256"])
@pytest.mark.parametrize("kid", ["one", None])
async def test_a_key_that_names_no_algorithm_fits_all_of_its_type(
    monkeypatch: pytest.MonkeyPatch, algorithm: str, kid: str | None
) -> None:
    """Both keys have one id, as some issuers give them."""

    async def fetch(*_: Any) -> oidc.Keys:
        jwks = [without(jwk, "alg", "use", "key_ops") for jwk in (RSA_JWK, CURVE_JWK)]
        return oidc.read_keys([{**jwk, "kid": "one"} for jwk in jwks])

    monkeypatch.setattr(oidc, "fetch_keys", fetch)
    claims = Claims("https://issuer", AUDIENCE, SCOPES, "errata:", "sub")
    token = sign(CURVE if algorithm == "ES256" else RSA, algorithm, kid, iss="https://issuer", **{SCOPES: []})
    assert (await OidcVerifier(claims, Jwks("https://issuer")).verify(token)).name == "oidc:mallory"


@pytest.mark.parametrize(
    "fields",
    [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"alg": "RS512"}, {"kty": "oct"}, {"n": None}],
    ids=str,
)
def test_a_key_is_for_what_it_says(fields: dict[str, Any]) -> None:
    keys = oidc.read_keys([{**RSA_JWK, "kid": "other", **fields}, {**without(CURVE_JWK), "kid": "curve"}])
    assert ("other", "RS256") not in keys
    assert ("curve", "ES256") in keys


async def test_an_issuer_that_differs_in_its_last_slash_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(*_: Any) -> oidc.Keys:
        return oidc.read_keys([RSA_JWK])

    monkeypatch.setattr(oidc, "fetch_keys", fetch)
    verifier = OidcVerifier(
        Claims("https://issuer", AUDIENCE, SCOPES, "errata:", "sub"), Jwks("https://issuer")
    )
    with pytest.raises(
        Unauthorized, match=r"its issuer is 'https://issuer/'.*differ in the slash at the end"
    ):
        await verifier.verify(sign(RSA, "RS256", None, iss="https://issuer/"))
    with pytest.raises(Unauthorized, match=r"its issuer is 'https://other', and 'https://issuer' is taken$"):
        await verifier.verify(sign(RSA, "RS256", None, iss="https://other"))


async def test_an_issuer_whose_keys_cannot_be_read_is_told_why(documents: dict[str, Any]) -> None:
    documents["issuer"] = "https://elsewhere"
    with pytest.raises(NotReady, match=r"no keys that can be read .it says that it is https://elsewhere"):
        await Jwks("https://issuer").get("signs", "RS256")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://issuer/jwks", "not as safe"),
        ("https://user:password@issuer/jwks", "a user, a query or a fragment"),
        ("https://issuer/jwks?next=https://elsewhere", "a user, a query or a fragment"),
        ("https://issuer/jwks#x", "a user, a query or a fragment"),
        ("https://169.254.169.254/latest/meta-data", "not at issuer: .*--oidc-jwks-host"),
        ("https://issuer:8443/jwks", "not at issuer"),
    ],
)
async def test_keys_from_elsewhere_are_not_read(
    documents: dict[str, Any], caplog: pytest.LogCaptureFixture, address: str, reason: str
) -> None:
    documents["jwks_uri"] = address
    with pytest.raises(NotReady):
        await Jwks("https://issuer").get("signs", "RS256")
    assert re.search(reason, caplog.text)


@pytest.mark.parametrize("host", ["keys.example", "keys.example:8443"])
async def test_keys_are_read_from_the_host_that_the_operator_names_and_from_no_other(
    documents: dict[str, Any], host: str
) -> None:
    documents["jwks_uri"] = f"https://{host}/jwks"
    assert (await Jwks("https://issuer", host).get("signs", "RS256")).key_id == "signs"
    with pytest.raises(NotReady):
        await Jwks("https://issuer", "other.example").get("signs", "RS256")


async def test_a_page_of_the_issuer_that_never_ends_is_given_up() -> None:
    n_bytes = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal n_bytes
        while True:
            n_bytes += 100_000
            yield b" " * 100_000

    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=endless()))
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(ValueError, match="more than 1,000,000 bytes"):
            await oidc.get_json(client, "https://issuer/jwks")
    assert n_bytes <= 1_200_000
