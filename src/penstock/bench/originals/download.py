"""A body from an address into a file, in pieces, and tried again if that may help."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from penstock.errors import BadInput

SCHEMES = ("http", "https")
TIME_OUT = 60.0  # seconds without a byte
PAUSES = (1.0, 4.0, 16.0)  # seconds before it is tried again
PIECE = 2**18  # bytes
TOO_MANY = 429
GONE = (404, 410)

Progress = Callable[[int], None]


class _Passing(Exception):
    """A fault that may be over in a while."""


class _Redirects(HTTPRedirectHandler):
    """Follows an address to another host, but to nothing else than the web."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme not in SCHEMES:
            raise HTTPError(newurl, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(address: str, to: Path, *, largest: int, progress: Progress | None = None) -> None:
    """Write what is at an address into a file, of which nothing can be used if that does not succeed.

    ``largest`` is how many bytes it may have; ``progress`` is told of bytes that have come, some at a time.
    """
    for pause in (*PAUSES, None):
        try:
            _received(address, to, largest, progress)
        except _Passing as fault:
            if pause is None:
                raise BadInput(f"{address} {fault}, however often it is tried; fetch it later.") from None
            time.sleep(pause)
        else:
            return


def moved(address: str, at: str | None) -> str:
    """The same path at another host, if one is named."""
    if at is None:
        return address
    try:
        mirror = urlsplit(at)
        known = mirror.scheme in SCHEMES and bool(mirror.hostname) and mirror.port != 0
    except ValueError:
        known = False
    if not known or mirror.query or mirror.fragment or not at.isascii() or not at.isprintable() or " " in at:
        raise BadInput(f"a host to fetch from is given like https://mirror.example.org; got {at!r}.")
    original = urlsplit(address)
    return at.rstrip("/") + original.path + (f"?{original.query}" if original.query else "")


def _received(address: str, to: Path, largest: int, progress: Progress | None) -> None:
    with _answer(address) as answer, to.open("wb") as file:
        expected, received = answer.length, 0
        while (received if expected is None else max(expected, received)) <= largest:
            piece = _piece(answer)
            if not piece:
                break
            file.write(piece)
            received += len(piece)
            if progress:
                progress(len(piece))
        else:
            raise BadInput(f"{address} is much larger than it should be; look at it with a browser.")
    if expected is not None and received != expected:
        raise _Passing("breaks off")


def _answer(address: str) -> HTTPResponse:
    try:
        return cast("HTTPResponse", _opener().open(address, timeout=TIME_OUT))
    except HTTPError as fault:
        with fault:
            raise _refusal(address, fault.code) from None
    except (TimeoutError, ConnectionError, HTTPException):
        raise _Passing("does not answer") from None
    except (URLError, UnicodeError) as fault:
        if isinstance(getattr(fault, "reason", None), TimeoutError):
            raise _Passing("does not answer") from None
        raise BadInput(f"{address} cannot be reached; look whether there is a network, and fetch it later.") from None


def _refusal(address: str, code: int) -> Exception:
    if code >= 500 or code == TOO_MANY:
        return _Passing(f"answers with error {code}")
    if code in GONE:
        return BadInput(f"there is nothing at {address}; it may have moved: look for it, or name a host that has it.")
    if code < 400:
        return BadInput(f"{address} leads to where nothing is fetched from; name a host that has it itself.")
    return BadInput(f"{address} answers with error {code}; look at it with a browser, or name another host.")


def _piece(answer: HTTPResponse) -> bytes:
    try:
        return answer.read(PIECE)
    except TimeoutError:
        raise _Passing("stops in the middle") from None
    except (OSError, HTTPException):
        raise _Passing("breaks off") from None


def _opener() -> OpenerDirector:
    """What opens addresses of the web, and nothing else: no files, no FTP."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor, _Redirects):
        opener.add_handler(handler())
    opener.addheaders = [("User-Agent", "penstock")]
    return opener
