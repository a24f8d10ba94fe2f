"""Cookies of the console: the key of the reader, and the token of its forms.

Nothing is stored on the server: the cookie holds the key itself, which no script can read and no other site sends, so a
key that is revoked ends its sessions at once, at every ingress.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import AsyncGenerator

from fastapi import Request, Response
from python_multipart.multipart import parse_options_header
from starlette.formparsers import MultiPartException, MultiPartParser

from service.errors import TooLarge, UnsupportedMediaType
from service.http.body import read_body

KEY, TOKEN = "errata_key", "errata_form"  # names of the cookies
PATH = "/console"
SESSION_S = 12 * 3_600  # seconds after which a person signs in again
MAX_FORM = 4 * 1024 * 1024  # bytes of a form: its texts, percent-encoded, or a file
MAX_FIELDS = 200  # fields of a form; a worklist has a tick for each of 100 lines
SLICE_BYTES = 16 * 1024  # bytes of a form that are divided, or decoded, together
ESCAPES = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
FORM_TYPE, PARTS_TYPE = "application/x-www-form-urlencoded", "multipart/form-data"

Form = dict[str, str]


def read_key(request: Request) -> str | None:
    return request.cookies.get(KEY)


def read_token(request: Request) -> str:
    """Return the token that forms for this browser carry, a new one for a browser that has none."""
    if not hasattr(request.state, "form_token"):
        request.state.form_token = request.cookies.get(TOKEN) or secrets.token_urlsafe(24)
    return str(request.state.form_token)


def set_cookie(response: Response, request: Request, name: str, value: str) -> None:
    """Keep a value in the browser, for the console's pages alone; an empty one is deleted."""
    response.set_cookie(
        name,
        value,
        max_age=SESSION_S if value else 0,
        path=PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


async def read_form(request: Request) -> Form:
    """Read the fields of a form, and keep them for the page that asks to sign in."""
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind not in (FORM_TYPE, PARTS_TYPE):
        raise UnsupportedMediaType(f"send the form as {FORM_TYPE}")
    refusal = TooLarge(f"a form may have {MAX_FORM:,} bytes: send less at once", limit=MAX_FORM)
    data = await read_body(request, refusal, MAX_FORM)
    try:
        is_parts = kind == PARTS_TYPE
        fields = await (_read_parts(request, data) if is_parts else asyncio.to_thread(divide, data))
    except (ValueError, MultiPartException) as error:
        raise TooLarge(f"a form has at most {MAX_FIELDS} fields, in UTF-8") from error
    form = {name: value.replace("\r\n", "\n").strip() for name, value in fields.items()}
    request.state.form = form
    return form


def divide(data: bytes) -> Form:
    """Return the fields of a form; raise ValueError if they are too many. urllib takes far longer for escapes."""
    if data.count(b"&") >= MAX_FIELDS:
        raise ValueError("too many fields")
    pairs = (pair.partition(b"=")[::2] for pair in data.replace(b"+", b" ").split(b"&") if pair)
    return {_decode(name): _decode(value) for name, value in pairs}


def _decode(text: bytes) -> str:
    """Decode escapes slice by slice, each of which holds the interpreter for a millisecond."""
    pieces, start = [], 0
    while start < len(text):
        end = start + SLICE_BYTES
        cut = text.rfind(b"%", end - 2, end)  # an escape that would be cut is the next slice's
        piece = text[start : end if cut < 0 else cut]
        pieces.append(ESCAPES.sub(lambda run: bytes.fromhex(run[0].replace(b"%", b"").decode()), piece))
        start += len(piece)
    return b"".join(pieces).decode(errors="replace")


async def _read_parts(request: Request, data: bytes) -> Form:
    """Return the texts of a form with a file, which `request.state.upload` keeps with its name."""
    _, parameters = parse_options_header(request.headers["content-type"])
    if parameters.get(b"charset", b"utf-8").lower() != b"utf-8":  # others may take quadratic time
        raise UnsupportedMediaType("send the texts of a form in UTF-8")

    async def stream() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(data), SLICE_BYTES):
            yield data[start : start + SLICE_BYTES]
            await asyncio.sleep(0)

    parser = MultiPartParser(
        request.headers, stream(), max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_FORM
    )
    fields: Form = {}
    try:
        for name, value in (await parser.parse()).multi_items():
            if isinstance(value, str):
                fields[name] = value
            elif value.filename:
                request.state.upload = value.filename, await value.read()
    finally:
        for file in parser._files_to_close_on_error:  # a part without an end has one, too
            file.close()
    return fields


def is_own(request: Request, form: Form) -> bool:
    """Return whether a form comes from a page of this browser's session."""
    cookie = request.cookies.get(TOKEN, "")
    return bool(cookie) and hmac.compare_digest(form.get("token", "").encode(), cookie.encode())
