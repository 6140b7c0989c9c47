"""Access to the page: only requests from this browser to exactly this address are answered.

The defence is against web pages in the same browser (DNS rebinding, forged requests) and against other users of the
machine, who can run servers on other ports and see the command lines of processes. It does not defend against the user's
own account.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flowrail.storage import files

CSRF_HEADER = "x-flow-csrf"
LONGEST_BODY = 1_000_000
"""The bytes that a request may send."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
ENTER = "/enter"
COOKIE = "flow_ui"
DIRECTIVES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",  # the drawings are SVG with a style element of their own
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)
ANSWER_HEADERS = {
    "content-security-policy": "; ".join(DIRECTIVES),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "connection": "close",  # one request each, so that a connection that says nothing can be ended
}


class Keys:
    """The name and the secrets of one run of the server.

    The name is random, because a browser sends the cookies of a host to all of its ports, where another user may listen.
    The *token* in the printed address works once. It is exchanged for ``cookie``; ``csrf`` is in the pages and in every
    request that changes something.
    """

    def __init__(self, *, port: int) -> None:
        self.host = f"flow-{secrets.token_hex(8)}.localhost:{port}"
        self.cookie = secrets.token_urlsafe(32)
        self.csrf = secrets.token_urlsafe(32)
        self.token: str | None = secrets.token_urlsafe(32)
        self._file = ""

    @property
    def address(self) -> str:
        """The address that opens the page once."""
        return f"http://{self.host}{ENTER}?token={self.token}"

    def write_file(self, folder: str) -> str:
        """Write a page that leads a browser to the address, for this user only, and return its path.

        The command line of a browser is visible to every user of the machine; this file is not.
        """
        files.make_private_dir(folder)
        self._file = os.path.join(folder, f"ui-{secrets.token_hex(8)}.html")
        lead = f'<meta http-equiv="refresh" content="0; url={self.address}"><a href="{self.address}">Open</a>'
        page = f"<!DOCTYPE html>{lead}\n"
        files.write_atomic(self._file, page.encode(), mode=0o600, durable=False)
        return self._file

    def remove_file(self) -> None:
        """Remove the file that leads to the address."""
        with suppress(OSError):
            os.unlink(self._file)

    def exchange(self, token: str) -> bool:
        """Return whether *token* opens the page, and use it up."""
        if self.token is None or not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self.token = None
        self.remove_file()
        return True

    def opens(self, headers: Headers) -> bool:
        """Return whether a request with these headers has the cookie."""
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return hmac.compare_digest(cookie.encode(), self.cookie.encode())

    def allows_change(self, headers: Headers) -> bool:
        """Return whether a request with these headers comes from one of our pages."""
        return hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), self.csrf.encode())


class AccessCheck:
    """Checks every request before *app* sees it."""

    def __init__(self, app: ASGIApp, *, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        refusal = self._refusal(scope)
        answer = self._app if refusal is None else refusal
        await answer(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.get("host", "") != self._keys.host:
            return _refused(HTTPStatus.MISDIRECTED_REQUEST, "unknown host")
        if "transfer-encoding" in headers or int(headers.get("content-length", "0")) > LONGEST_BODY:
            return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LONGEST_BODY} bytes")
        if scope["path"] == ENTER and scope["method"] in SAFE_METHODS:
            return None  # a link in a terminal or a chat leads here; the token decides
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{self._keys.host}":
            return _refused(HTTPStatus.FORBIDDEN, "requests from other pages are refused")
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return _refused(HTTPStatus.FORBIDDEN, "requests from other pages are refused")
        if not self._keys.opens(headers):
            message = "This browser has no access. Run `flow ui` and open the address that it prints."
            return _refused(HTTPStatus.UNAUTHORIZED, message)
        return None if scope["method"] in SAFE_METHODS else self._refused_change(headers, origin)

    def _refused_change(self, headers: Headers, origin: str | None) -> PlainTextResponse | None:
        if origin is None or not self._keys.allows_change(headers):
            return _refused(HTTPStatus.FORBIDDEN, "changes are only accepted from our own pages")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "changes are JSON")
        return None


def _refused(status: HTTPStatus, message: str) -> PlainTextResponse:
    return PlainTextResponse(f"{message}\n", status)


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in ANSWER_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return with_headers
