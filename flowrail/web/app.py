"""The routes of the page. Each reads the store, calls an operation and fills a template."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from importlib.resources import files

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from flowrail.errors import ConflictError, FlowError, TrustError, UsageError
from flowrail.operations.running import evidence_records, questions, steps
from flowrail.text import json as strict_json
from flowrail.web.access import ENTER, AccessCheck, Keys
from flowrail.web.pages import Pages

POLL_SECONDS = 0.5
"""How often the store is looked at while a page is open."""
STATIC = {"page.css": "text/css", "page.js": "text/javascript"}
STATUSES = {
    2: HTTPStatus.BAD_REQUEST,
    3: HTTPStatus.INTERNAL_SERVER_ERROR,
    4: HTTPStatus.CONFLICT,
    7: HTTPStatus.FORBIDDEN,
}
"""HTTP statuses by exit status."""


class Activity:
    """The open pages and the time of the last request, from which the server decides when to stop."""

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


def application(pages: Pages, keys: Keys, activity: Activity, *, hosts: tuple[str, ...]) -> AccessCheck:
    """Return the application, which answers only requests that `AccessCheck` lets through."""

    def page(path: str, render: Callable[[Request], str]) -> Route:
        """Return the route of a page. It is rendered in a thread, since that reads files."""

        async def answer(request: Request) -> Response:
            activity.seen()
            try:
                return HTMLResponse(await run_in_threadpool(render, request))
            except FlowError as error:
                is_unknown = error.exit_status == UsageError.exit_status
                status = HTTPStatus.NOT_FOUND if is_unknown else STATUSES.get(error.exit_status, 500)
                return HTMLResponse(pages.error(error), status)

        return Route(path, answer)

    def change(verb: str, make: Callable[[Pages, str, Mapping[str, object]], None]) -> Route:
        """Return the route of a change of a session: a JSON object in, nothing or an error document out."""

        async def answer(request: Request) -> Response:
            activity.seen()
            try:
                body = strict_json.load(
                    (await request.body()).decode("utf-8", "replace"), source="the request"
                )
                if not isinstance(body, Mapping):
                    raise UsageError("the request is not a JSON object", hint="send an object")
                await run_in_threadpool(make, pages, request.path_params["session"], body)
            except FlowError as error:
                status = STATUSES.get(error.exit_status, HTTPStatus.BAD_REQUEST)
                problem = {"code": error.code, "message": error.message, "hint": str(error.hint)}
                return JSONResponse(problem, status)
            return JSONResponse({"done": True})

        return Route(f"/sessions/{{session}}/{verb}", answer, methods=["POST"])

    async def not_found(request: Request, error: Exception) -> Response:
        del request, error
        missing = UsageError("page not found", hint="go back to the board")
        return HTMLResponse(pages.error(missing), HTTPStatus.NOT_FOUND)

    def session(request: Request) -> str:
        at = request.query_params.get("at", "")
        return pages.session(request.path_params["session"], int(at) if at.isdecimal() else None)

    routes = [
        Route(ENTER, _entry(pages, keys)),
        page("/", lambda _: pages.start()),
        page("/sessions/{session}", session),
        change("answer", _answer),
        change("approve", _approve),
        change("waive", _waive),
        change("abandon", _abandon),
        page("/fleet", lambda _: pages.fleet()),
        page("/handoffs", lambda _: pages.handoffs()),
        page("/skills/{address:path}", lambda request: pages.skill(request.path_params["address"])),
        Route("/static/{name}", _static),
        Route("/events", _events(pages, activity)),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: not_found})
    return AccessCheck(app, hosts=hosts, keys=keys)


def _entry(pages: Pages, keys: Keys) -> Callable[[Request], Awaitable[Response]]:
    """Return the route that exchanges the token for the cookie.

    The answer is a page that moves on by itself: after a redirect, the browser would not send the cookie along
    if the address was opened from another page.
    """

    async def answer(request: Request) -> Response:
        if not keys.exchange(request.query_params.get("token", "")):
            return HTMLResponse(pages.render("refused.html"), HTTPStatus.UNAUTHORIZED)
        response = HTMLResponse(pages.render("entry.html"))
        response.set_cookie(keys.cookie_name, keys.cookie, httponly=True, samesite="strict", path="/")
        return response

    return answer


def _answer(pages: Pages, session_id: str, body: Mapping[str, object]) -> None:
    answers = body.get("answers")
    if not isinstance(answers, Mapping) or not answers:
        raise UsageError(
            "an answer must name its questions", hint='send {"answers": {"question": ["option"]}}'
        )
    labels = {str(name): [str(word) for word in words] for name, words in answers.items()}
    reason = str(body.get("reason", ""))
    questions.answer(pages.world, session_id, labels, reason, expect=_revision(body))


def _approve(pages: Pages, session_id: str, body: Mapping[str, object]) -> None:
    """Approve a check as the page showed it, not as it may be by now."""
    _require_person(pages)
    seen = evidence_records.judged(pages.world, session_id, str(body.get("check", "")))
    if seen.state != body.get("state"):
        raise ConflictError(
            f"the files of check `{seen.check}` have changed since the page showed them",
            hint="look at it again, then decide",
        )
    evidence_records.approve(
        pages.world, session_id, seen, str(body.get("reason", "")), expect=_revision(body)
    )


def _waive(pages: Pages, session_id: str, body: Mapping[str, object]) -> None:
    _require_person(pages)
    checks = [str(body.get("check", ""))]
    evidence_records.waive(
        pages.world, session_id, checks, str(body.get("reason", "")), expect=_revision(body)
    )


def _require_person(pages: Pages) -> None:
    if not pages.can_approve:
        raise TrustError(
            "this page cannot approve or waive, because its address was not printed on a terminal",
            hint="use the printed command, or start `flow ui` yourself at a terminal",
        )


def _abandon(pages: Pages, session_id: str, body: Mapping[str, object]) -> None:
    steps.abandon(pages.world, session_id, str(body.get("reason", "")), expect=_revision(body))


def _revision(body: Mapping[str, object]) -> int:
    revision = body.get("revision")
    if type(revision) is not int:
        raise UsageError("a change must name the revision that the page showed", hint='send "revision"')
    return revision


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    content = files("flowrail.web").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name])


def _events(pages: Pages, activity: Activity) -> Callable[[Request], Awaitable[Response]]:
    """Return the stream that says when a page should be loaded again."""

    async def changes(request: Request) -> AsyncIterator[str]:
        activity.open_pages += 1
        try:
            seen = await run_in_threadpool(pages.stamps)
            yield "retry: 1000\n\n"
            while not activity.stopping and not await request.is_disconnected():
                await run_in_threadpool(time.sleep, POLL_SECONDS)
                stamps = await run_in_threadpool(pages.stamps)
                changed = sorted(
                    key for key in stamps.keys() | seen.keys() if stamps.get(key) != seen.get(key)
                )
                seen = stamps
                if changed:
                    yield f"data: {json.dumps(changed)}\n\n"
        finally:
            activity.open_pages -= 1
            activity.seen()

    async def route(request: Request) -> Response:
        return StreamingResponse(changes(request), media_type="text/event-stream")

    return route
