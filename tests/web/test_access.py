"""The page is only for the browser of the person who started it: real requests to a running `flow ui`."""

from __future__ import annotations

import json
import os
import pwd
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.cookiejar import CookieJar
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen

import pytest
from support.sandbox import put_skill, told
from support.web import APPROVAL, Website, website

pytest.importorskip("starlette", reason="the extra `web` is not installed")


@pytest.fixture
def site() -> Iterator[Website]:
    put_skill("release", APPROVAL)
    told("step", "release", "--new", "-p", "version=1.4.0")
    with website() as running:
        yield running


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, at most fifteen seconds."""
    end = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def connection(site: Website) -> socket.socket:
    return socket.create_connection(("127.0.0.1", site.port), timeout=30)


def test_nothing_is_shown_without_the_printed_address(site: Website) -> None:
    for path in ("/", "/events", "/static/page.js", "/sessions/release-abc123", "/nowhere"):
        answered = site.request(path)

        assert answered.status == 401
        assert "release" not in answered.text

    assert site.request("/enter?token=guess").status == 401


def test_the_printed_address_works_once(site: Website) -> None:
    first = site.enter()
    again = site.request(site.address.removeprefix(site.origin), headers={"Cookie": ""})

    assert first.status == 200
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(first.headers["set-cookie"].split("; "))
    assert site.request("/").status == 200
    assert again.status == 401
    assert "set-cookie" not in again.headers


def test_another_name_for_this_machine_is_refused(site: Website) -> None:
    site.enter()

    for host in ("evil.example", f"localhost:{site.port}", f"127.0.0.1:{site.port}", f"x{site.host}"):
        assert site.request("/", headers={"Host": host}).status == 421
    assert site.request("/").status == 200


def test_cookies_never_reach_another_port_because_the_name_is_new_each_time(site: Website) -> None:
    site.enter()
    with website() as other:
        answered = other.enter()

    assert re.fullmatch(r"flow-[0-9a-f]{16}\.localhost:\d+", site.host)
    assert other.host.partition(":")[0] != site.host.partition(":")[0]
    assert "domain=" not in answered.headers["set-cookie"].lower()  # only for exactly this name


@contextmanager
def server_of_another_user() -> Iterator[tuple[int, int]]:
    """Listen as another user; yield the port, and a pipe with the first request."""
    read, write = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        child = os.fork()
        if child == 0:
            os.setgid(pwd.getpwnam("nobody").pw_gid)
            os.setuid(pwd.getpwnam("nobody").pw_uid)
            visitor, _ = listening.accept()
            os.write(write, f"user {os.getuid()}\n".encode() + visitor.recv(65_536))
            visitor.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
            os._exit(0)
        os.close(write)
        try:
            yield listening.getsockname()[1], read
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_server_of_another_user_gets_no_cookie(site: Website, name: str) -> None:
    browser = CookieJar()
    headers = Message()
    headers["Set-Cookie"] = site.enter().headers["set-cookie"]
    own = Request(f"{site.origin}/")  # noqa: S310 - it is not opened
    browser.extract_cookies(SimpleNamespace(info=lambda: headers), own)  # type: ignore[arg-type]
    browser.add_cookie_header(own)

    with server_of_another_user() as (port, received):
        elsewhere = Request(f"http://{name}:{port}/")
        browser.add_cookie_header(elsewhere)
        urlopen(elsewhere, timeout=10).close()  # noqa: S310 - a server of this test
        request = os.read(received, 65_536).decode()

    assert own.has_header("Cookie")
    assert request.startswith(f"user {pwd.getpwnam('nobody').pw_uid}\nGET / ")
    assert "cookie" not in request.lower()


BROWSER = """\
#!/bin/sh
echo "$@" > arguments
cat "${1#file://}" > page
stat -c %a "${1#file://}" > mode
sleep 60
"""


@pytest.fixture
def browser(tmp_path: Path) -> str:
    """A browser that records what it is given, and does not return."""
    program = tmp_path / "browser"
    program.write_text(BROWSER)
    program.chmod(0o700)
    return str(program)


def test_the_browser_gets_the_token_through_a_private_file_and_cannot_hold_up_the_server(
    browser: str,
) -> None:
    with website(env={"BROWSER": browser}) as site:
        token = site.address.partition("token=")[2]
        until(lambda: Path("mode").exists() and Path("mode").read_text())
        arguments, page = Path("arguments").read_text(), Path("page").read_text()
        assert site.enter().status == 200  # although the browser has not returned
        file = Path(arguments.strip().removeprefix("file://"))
        assert not file.exists()  # it was used

    assert token not in arguments
    assert f"url={site.address}" in page
    assert Path("mode").read_text() == "600\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_of_the_machine_sees_no_token(browser: str) -> None:
    with website(env={"BROWSER": browser}) as site:
        token = site.address.partition("token=")[2]
        until(lambda: Path("mode").exists() and Path("mode").read_text())
        file = Path("arguments").read_text().strip().removeprefix("file://")

        def spied() -> bytes:
            words = ["/bin/sh", "-c", f"cat /proc/[0-9]*/cmdline; cat {file}"]
            return subprocess.run(words, user="nobody", cwd="/", capture_output=True, check=False).stdout

        until(lambda: b"sleep\x0060" in spied())  # it sees command lines, that of the browser too
        assert token.encode() not in spied()


def test_a_connection_that_sends_no_request_is_closed() -> None:
    before = "import flowrail.web.server as server; server.REQUEST_SECONDS = 0.5"
    with website(before=before) as site, connection(site) as silent, connection(site) as half:
        half.sendall(f"GET / HTTP/1.1\r\nHost: {site.host}\r\n".encode())

        assert silent.recv(1) == half.recv(1) == b""


def test_a_body_that_never_arrives_ends_its_request() -> None:
    with website(before="import flowrail.web.app as app; app.BODY_SECONDS = 0.5") as site:
        site.enter()
        head = {
            "Host": site.host, "Origin": site.origin, "X-Flow-Csrf": site.csrf(), "Cookie": site.cookie,
            "Content-Type": "application/json", "Content-Length": "100",
        }  # fmt: skip
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        with connection(site) as slow:
            slow.sendall(f"POST /sessions/x/answer HTTP/1.1\r\n{lines}\r\n{{".encode())

            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("header", ["Content-Length: 1000001", "Transfer-Encoding: chunked"])
def test_a_large_body_is_refused_before_it_is_read(site: Website, header: str) -> None:
    with connection(site) as large:
        large.sendall(f"POST /sessions/x/answer HTTP/1.1\r\nHost: {site.host}\r\n{header}\r\n\r\n".encode())

        assert large.recv(100).startswith(b"HTTP/1.1 413 ")


def test_requests_from_other_pages_are_refused(site: Website) -> None:
    site.enter()

    assert site.request("/", headers={"Origin": "http://evil.example"}).status == 403
    assert site.request("/", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    assert site.request("/", headers={"Sec-Fetch-Site": "same-site"}).status == 403
    assert site.request("/", headers={"Sec-Fetch-Site": "none"}).status == 200


def test_a_change_needs_origin_secret_and_json(site: Website) -> None:
    site.enter()
    session = told("sessions")["sessions"][0]["session"]
    told("step", "release", "ok", "--session", session)
    answer = {"revision": 1, "answers": {"go": ["Yes"]}}
    path, body = f"/sessions/{session}/answer", json.dumps(answer)
    whole = {"Origin": site.origin, "X-Flow-Csrf": site.csrf(), "Content-Type": "application/json"}

    for missing in whole:
        part = {name: value for name, value in whole.items() if name != missing}
        assert site.request(path, "POST", body=body, headers=part).status in {403, 415}
    form = {**whole, "Content-Type": "text/plain"}
    assert site.request(path, "POST", body=body, headers=form).status == 415
    assert told("sessions", session)["status"] == "waiting"

    assert site.request(path, "POST", body=body, headers=whole).status == 200
    assert told("sessions", session)["status"] == "active"


def test_every_answer_forbids_scripts_of_others_and_frames(site: Website) -> None:
    site.enter()

    for path in ("/", "/nowhere", "/sessions/release-abc123"):
        headers = site.request(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_closed_terminal_and_ctrl_c_at_the_same_time_end_it_although_a_page_is_open() -> None:
    with website(at_terminal=False) as site:
        site.enter()
        with connection(site) as page:
            page.sendall(
                f"GET /events HTTP/1.1\r\nHost: {site.host}\r\nCookie: {site.cookie}\r\n\r\n".encode()
            )
            assert page.recv(100).startswith(b"HTTP/1.1 200 ")
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGHUP):
                os.kill(site.process.pid, number)

            assert site.process.wait() == 0

    assert not list((Path.home() / ".local" / "state" / "flowrail").glob("ui-*"))


def test_a_file_for_a_browser_that_never_came_is_removed() -> None:
    with website(env={"BROWSER": "true"}):
        pass

    assert not list((Path.home() / ".local" / "state" / "flowrail").glob("ui-*"))
