"""The routes of the page. Each reads the store, calls an operation and fills a template."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from importlib.resources import files

from pydantic import ConfigDict, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from flowrail.errors import FlowError, TrustError, UsageError
from flowrail.machines.session import ON_PAGE
from flowrail.operations.environment import Environment
from flowrail.operations.steps import decisions, user_questions
from flowrail.web.access import COOKIE, ENTER, AccessCheck, Keys
from flowrail.web.pages import Pages

POLL_SECONDS = 0.5
"""How often the store is looked at while a page is open."""
BODY_SECONDS = 10.0
"""How long a request may take to arrive."""
STATIC = {"page.css": "text/css", "page.js": "text/javascript"}
STATUSES = {
    2: HTTPStatus.BAD_REQUEST,
    3: HTTPStatus.INTERNAL_SERVER_ERROR,
    4: HTTPStatus.CONFLICT,
    7: HTTPStatus.FORBIDDEN,
}
"""HTTP statuses by exit status."""


class BadRecordError(UsageError):
    """The page was asked for a record whose number is not valid."""

    code = "BAD_RECORD"


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


@dataclass(frozen=True)
class Answers:
    """A person's answers to what waits in a session."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    revision: int
    """The revision that the page showed."""
    answers: dict[str, list[str]]
    """The chosen options of each question."""
    reason: str = ""
    """The reason, for the journal."""

    def record(self, environment: Environment, session_id: str) -> None:
        """Record the answers."""
        if not self.answers:
            raise UsageError("an answer must name its questions", hint="choose an option")
        asked = {question.id: question for question in decisions.awaited(environment, session_id)}
        for name, words in self.answers.items():
            if name in asked:
                decisions.decide(
                    environment, asked[name], words, self.reason, way=ON_PAGE, expect=self.revision
                )
            else:  # it says why the question takes no answer
                answers = {name: words}
                user_questions.answer_questions(
                    environment, session_id, answers, expect=self.revision, way=ON_PAGE
                )


def application(pages: Pages, keys: Keys, activity: Activity) -> AccessCheck:
    """Return the application, which answers only requests that `AccessCheck` lets through."""

    async def not_found(request: Request, error: Exception) -> Response:
        del request, error
        missing = UsageError("page not found", hint="go back to the board")
        return HTMLResponse(pages.error(missing), HTTPStatus.NOT_FOUND)

    def session(request: Request) -> str:
        at = request.query_params.get("at", "")
        if at and not re.fullmatch(r"[0-9]{1,9}", at):
            raise BadRecordError("`at` is not the number of a record", hint="go back to the board")
        return pages.session(request.path_params["session"], int(at) if at else None)

    page = partial(_page, pages, activity)
    routes = [
        Route(ENTER, _entry(pages, keys)),
        page("/", lambda _: pages.start()),
        page("/sessions/{session}", session),
        _answer(pages, activity),
        page("/skills", lambda _: pages.skills()),
        page("/skills/{address:path}", lambda request: pages.skill(request.path_params["address"])),
        Route("/static/{name}", _static),
        Route("/events", _events(pages, activity)),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: not_found})
    return AccessCheck(app, keys=keys)


def _page(pages: Pages, activity: Activity, path: str, render: Callable[[Request], str]) -> Route:
    """Return the route of a page. It is rendered in a thread, since that reads files."""

    async def answer(request: Request) -> Response:
        activity.seen()
        try:
            return HTMLResponse(await run_in_threadpool(render, request))
        except FlowError as error:
            is_unknown = error.exit_status == UsageError.exit_status
            status = HTTPStatus.NOT_FOUND if is_unknown else STATUSES.get(error.exit_status, 500)
            if isinstance(error, BadRecordError):
                status = HTTPStatus.BAD_REQUEST
            return HTMLResponse(pages.error(error), status)

    return Route(path, answer)


def _answer(pages: Pages, activity: Activity) -> Route:
    """Return the route of answers: a JSON object in, nothing or an error document out."""
    reader = TypeAdapter(Answers)

    async def answer(request: Request) -> Response:
        activity.seen()
        try:
            _require_person(pages)
            answers = reader.validate_json(await asyncio.wait_for(request.body(), BODY_SECONDS))
            await run_in_threadpool(answers.record, pages.environment, request.path_params["session"])
        except FlowError as error:
            status = STATUSES.get(error.exit_status, HTTPStatus.BAD_REQUEST)
            return _problem(error.code, error.message, str(error.hint), status)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, wrong["loc"])) or "the request"
            return _problem(
                "BAD_REQUEST", f"{place}: {wrong['msg']}", "load the page again", HTTPStatus.BAD_REQUEST
            )
        except TimeoutError:
            return Response(status_code=HTTPStatus.REQUEST_TIMEOUT)
        return JSONResponse({"done": True})

    return Route("/sessions/{session}/answer", answer, methods=["POST"])


def _problem(code: str, message: str, hint: str, status: HTTPStatus) -> Response:
    return JSONResponse({"code": code, "message": message, "hint": hint}, status)


def _entry(pages: Pages, keys: Keys) -> Callable[[Request], Awaitable[Response]]:
    """Return the route that exchanges the token for the cookie.

    The answer is a page that moves on by itself: after a redirect, the browser would not send the cookie along
    if the address was opened from another page.
    """

    async def answer(request: Request) -> Response:
        if not keys.exchange(request.query_params.get("token", "")):
            return HTMLResponse(pages.render("refused.html"), HTTPStatus.UNAUTHORIZED)
        response = HTMLResponse(pages.render("entry.html"))
        response.set_cookie(COOKIE, keys.cookie, httponly=True, samesite="strict", path="/")
        return response

    return answer


def _require_person(pages: Pages) -> None:
    if not pages.is_person:
        raise TrustError(
            "this page accepts no answers, because it was not started by a person at a terminal",
            hint="use the printed command, or start `flow ui` yourself at a terminal",
        )


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
            yield "retry: 1000\ndata: []\n\n"
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
