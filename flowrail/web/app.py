"""The routes of the page. Each reads the store, calls an operation and fills a template."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from importlib.resources import files
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from flowrail.errors import ConflictError, FlowError, TrustError, UsageError
from flowrail.operations.environment import World
from flowrail.operations.running import evidence_records, questions, steps
from flowrail.operations.sessions.board import Board
from flowrail.text import json as strict_json
from flowrail.web.access import ENTER, AccessCheck, Keys
from flowrail.web.pages import Pages

POLL_SECONDS = 0.5
"""How often the store is looked at while a page is open."""
LARGEST_BODY = 100_000
STATIC = {"page.css": "text/css", "page.js": "text/javascript"}
STATUSES = {
    2: HTTPStatus.BAD_REQUEST,
    3: HTTPStatus.INTERNAL_SERVER_ERROR,
    4: HTTPStatus.CONFLICT,
    7: HTTPStatus.FORBIDDEN,
}
"""HTTP statuses by exit status."""


class Activity:
    """What the server needs to know to stop when nobody looks: open pages, and when the last request came."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.last_request = clock()
        self.open_pages = 0
        self.stopping = False

    def seen(self) -> None:
        """Note a request."""
        self.last_request = self._clock()

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request; 0 while a page is open."""
        return 0.0 if self.open_pages else self._clock() - self.last_request


class Site(NamedTuple):
    """What the routes share."""

    world: World
    pages: Pages
    board: Board
    keys: Keys
    activity: Activity
    can_approve: bool


def application(site: Site, *, hosts: tuple[str, ...]) -> AccessCheck:
    """Return the application, which answers only requests that `AccessCheck` lets through."""
    routes = [
        Route(ENTER, _page(_enter, site)),
        Route("/", _page(_board, site)),
        Route("/sessions/{session}", _page(_session, site)),
        Route("/sessions/{session}/answer", _change(_answer, site), methods=["POST"]),
        Route("/sessions/{session}/approve", _change(_approve, site), methods=["POST"]),
        Route("/sessions/{session}/waive", _change(_waive, site), methods=["POST"]),
        Route("/sessions/{session}/abandon", _change(_abandon, site), methods=["POST"]),
        Route("/fleet", _page(_fleet, site)),
        Route("/handoffs", _page(_handoffs, site)),
        Route("/skills/{address:path}", _page(_skill, site)),
        Route("/static/{name}", _static),
        Route("/events", _events(site)),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_found(site)})
    return AccessCheck(app, hosts=hosts, keys=site.keys)


def _board(site: Site, request: Request) -> Response:
    del request
    return HTMLResponse(site.pages.board(site.board.refresh(site.world.now())))


def _session(site: Site, request: Request) -> Response:
    at = request.query_params.get("at", "")
    seq = int(at) if at.isdecimal() else None
    return HTMLResponse(site.pages.session(request.path_params["session"], seq))


def _handoffs(site: Site, request: Request) -> Response:
    del request
    return HTMLResponse(site.pages.handoffs())


def _fleet(site: Site, request: Request) -> Response:
    del request
    return HTMLResponse(site.pages.fleet())


def _skill(site: Site, request: Request) -> Response:
    return HTMLResponse(site.pages.skill(request.path_params["address"]))


def _enter(site: Site, request: Request) -> Response:
    """Exchange the token for the cookie.

    The answer is a page that moves on by itself: after a redirect, the browser would not send the cookie along
    if the address was opened from another page.
    """
    if not site.keys.exchange(request.query_params.get("token", "")):
        return HTMLResponse(site.pages.refused_entry(), HTTPStatus.UNAUTHORIZED)
    response = HTMLResponse(site.pages.entry())
    response.set_cookie(site.keys.cookie_name, site.keys.cookie, httponly=True, samesite="strict", path="/")
    return response


def _answer(site: Site, session_id: str, body: Mapping[str, object]) -> None:
    answers = body.get("answers")
    if not isinstance(answers, Mapping) or not answers:
        raise UsageError(
            "an answer must name its questions", hint='send {"answers": {"question": ["option"]}}'
        )
    given = {str(name): [str(word) for word in words] for name, words in answers.items()}
    reason = str(body.get("reason", ""))
    questions.answer(site.world, session_id, given, reason, expect=_revision(body))


def _approve(site: Site, session_id: str, body: Mapping[str, object]) -> None:
    """Approve a check as the page showed it, not as it may be by now."""
    _require_person(site)
    seen = evidence_records.judged(site.world, session_id, str(body.get("check", "")))
    if seen.state != body.get("state"):
        raise ConflictError(
            f"the files of check `{seen.check}` have changed since the page showed them",
            hint="look at it again, then decide",
        )
    evidence_records.approve(
        site.world, session_id, seen, str(body.get("reason", "")), expect=_revision(body)
    )


def _waive(site: Site, session_id: str, body: Mapping[str, object]) -> None:
    _require_person(site)
    checks = [str(body.get("check", ""))]
    evidence_records.waive(
        site.world, session_id, checks, str(body.get("reason", "")), expect=_revision(body)
    )


def _require_person(site: Site) -> None:
    if not site.can_approve:
        raise TrustError(
            "this page cannot approve or waive, because its address was not printed on a terminal",
            hint="use the printed command, or start `flow ui` yourself at a terminal",
        )


def _abandon(site: Site, session_id: str, body: Mapping[str, object]) -> None:
    steps.abandon(site.world, session_id, str(body.get("reason", "")), expect=_revision(body))


def _revision(body: Mapping[str, object]) -> int:
    revision = body.get("revision")
    if type(revision) is not int:
        raise UsageError("a change must name the revision that the page showed", hint='send "revision"')
    return revision


def _page(
    handler: Callable[[Site, Request], Response], site: Site
) -> Callable[[Request], Awaitable[Response]]:
    """Return the route of a page. It runs in a thread, since it reads files."""

    async def route(request: Request) -> Response:
        site.activity.seen()
        try:
            return await run_in_threadpool(handler, site, request)
        except FlowError as error:
            status = HTTPStatus.NOT_FOUND if error.exit_status == 2 else STATUSES.get(error.exit_status, 500)  # noqa: PLR2004
            return HTMLResponse(site.pages.error(error), status)

    return route


def _change(
    handler: Callable[[Site, str, Mapping[str, object]], None], site: Site
) -> Callable[[Request], Awaitable[Response]]:
    """Return the route of a change: a JSON object in, the new state or an error document out."""

    async def route(request: Request) -> Response:
        site.activity.seen()
        try:
            body = await _body(request)
            await run_in_threadpool(handler, site, request.path_params["session"], body)
        except FlowError as error:
            status = STATUSES.get(error.exit_status, HTTPStatus.BAD_REQUEST)
            return JSONResponse(
                {"code": error.code, "message": error.message, "hint": str(error.hint)}, status
            )
        return JSONResponse({"done": True})

    return route


async def _body(request: Request) -> Mapping[str, object]:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_BODY:
            raise UsageError("the request is too large", hint=f"send at most {LARGEST_BODY} bytes")
    value = strict_json.load(data.decode("utf-8", "replace"), source="the request")
    if not isinstance(value, Mapping):
        raise UsageError("the request is not a JSON object", hint="send an object")
    return value


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    content = files("flowrail.web").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name])


def _events(site: Site) -> Callable[[Request], Awaitable[Response]]:
    """Return the stream that says when a page should be loaded again."""

    async def changes(request: Request) -> AsyncIterator[str]:
        site.activity.open_pages += 1
        listener = site.world.store.listener()
        try:
            seen = await run_in_threadpool(site.pages.stamps)
            yield "retry: 1000\n\n"
            while not site.activity.stopping and not await request.is_disconnected():
                if not await run_in_threadpool(listener.wait, POLL_SECONDS):
                    continue
                stamps = await run_in_threadpool(site.pages.stamps)
                changed = sorted(
                    key for key in stamps.keys() | seen.keys() if stamps.get(key) != seen.get(key)
                )
                seen = stamps
                if changed:
                    yield f"data: {json.dumps(changed)}\n\n"
        finally:
            listener.close()
            site.activity.open_pages -= 1
            site.activity.seen()

    async def route(request: Request) -> Response:
        return StreamingResponse(changes(request), media_type="text/event-stream")

    return route


def _not_found(site: Site) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def page(request: Request, error: Exception) -> Response:
        del request
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        missing = UsageError("page not found", hint="go back to the board")
        return HTMLResponse(site.pages.error(missing), status)

    return page
