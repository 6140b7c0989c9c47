"""The page is only for the browser of the person who started it: real requests to a running `flow ui`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support.sandbox import put_skill, told
from support.web import APPROVAL, Website, website

pytest.importorskip("starlette", reason="the extra `web` is not installed")


@pytest.fixture
def site() -> Iterator[Website]:
    put_skill("release", APPROVAL)
    told("start", "release", "-p", "version=1.4.0")
    with website() as running:
        yield running


def test_nothing_is_shown_without_the_printed_address(site: Website) -> None:
    for path in ("/", "/handoffs", "/events", "/static/page.js", "/sessions/release-abc123", "/nowhere"):
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

    for host in ("evil.example", f"evil.example:{site.port}", "127.0.0.1", f"127.0.0.1:{site.port + 1}"):
        assert site.request("/", headers={"Host": host}).status == 421
    assert site.request("/", headers={"Host": f"localhost:{site.port}"}).status == 200


def test_requests_from_other_pages_are_refused(site: Website) -> None:
    site.enter()

    assert site.request("/", headers={"Origin": "http://evil.example"}).status == 403
    assert site.request("/", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    assert site.request("/", headers={"Sec-Fetch-Site": "same-site"}).status == 403
    assert site.request("/", headers={"Sec-Fetch-Site": "none"}).status == 200


def test_a_change_needs_origin_secret_and_json(site: Website) -> None:
    site.enter()
    session = told("sessions")["sessions"][0]["session"]
    path, body = f"/sessions/{session}/abandon", json.dumps({"revision": 0})
    whole = {"Origin": site.origin, "X-Flow-Csrf": site.csrf(), "Content-Type": "application/json"}

    for missing in whole:
        part = {name: value for name, value in whole.items() if name != missing}
        assert site.request(path, "POST", body=body, headers=part).status in {403, 415}
    form = {**whole, "Content-Type": "text/plain"}
    assert site.request(path, "POST", body=body, headers=form).status == 415
    assert told("status", session)["status"] == "active"

    assert site.request(path, "POST", body=body, headers=whole).status == 200
    assert told("status", session)["status"] == "abandoned"


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


def test_it_stops_when_no_page_is_open() -> None:
    with website("--idle", "0.05") as site:
        site.enter()

        assert site.process.wait(timeout=30) == 0
