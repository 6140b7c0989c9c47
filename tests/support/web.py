"""A running `flow ui`, and requests to it as a browser sends them."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from support.evidence import git
from support.forked import Child, start, start_at_terminal
from support.sandbox import allow, put_skill, told

APPROVAL = """\
name: NAME
description: A release that a person approves.
params: {version: {type: string, required: true}}
steps:
  - {id: test, title: "Test $version", limit: 3, actions: [Run the tests.], next: {ok: approve, iterate: test}}
  - id: approve
    title: Ask for approval
    actions: [Show the changes.]
    questions:
      - {id: go, header: Release, text: "Publish it?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]}
    next: {ok: publish, fail: test}
  - {id: publish, title: Publish, actions: [Publish it.], next: {ok: null, fail: null}}
"""
"""A step with a loop, one that asks a person, and a last one."""

PUBLISH = """\
name: NAME
steps:
  - id: publish
    title: Publish
    actions: [Publish it.]
    evidence: {ok: [{id: package, person: the package is right}]}
    next: {ok: null}
"""
"""A step that a person must approve."""


MIGRATE = """\
name: NAME
description: Change the database with a **migration** that a person allows.
params: {change: {type: string, required: true}}
guards: {"Bash(psql production*)": [run]}
steps:
  - id: write
    title: Write the migration
    actions: ["Write the migration and its rollback, then run the tests."]
    limit: 3
    commands: {tests: {run: [sh, tests.sh], reads: ["db/**"]}}
    evidence:
      ok:
        - {id: migration, file: db/0042_drop_column.sql, changed: true}
        - {id: rollback, file: db/0042_rollback.sql}
        - {id: tests, command: tests}
    next: {ok: review, iterate: write}
  - id: review
    title: Review it
    actions: ["Record findings."]
    evidence: {ok: [{id: reviewed, review: submitted}]}
    next: {ok: ask}
  - id: ask
    title: Ask
    actions: ["Tell the user about the migration."]
    limit: 3
    questions:
      - id: run
        header: Migration
        text: "Run the migration *$change* on the production database?"
        person: true
        options:
          - {label: "Run it", outcome: ok, description: "All customers are affected at once"}
          - {label: "Not yet", outcome: fail, description: "It goes back to be **fixed**"}
    next: {ok: run, fail: write}
  - id: run
    title: Run the migration
    actions: ["Run it."]
    commands: {migrate: {run: [sh, migrate.sh], once: true}}
    next: {ok: null, fail: null}
"""
"""A migration that a person allows, after the files, the tests and the findings are there to read."""


class Answered(NamedTuple):
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def data(self) -> Any:
        """The JSON document in it."""
        return json.loads(self.text)


class Website:
    """A running page. Requests carry its cookie after `enter`."""

    def __init__(self, address: str, process: Child) -> None:
        self.address = address
        self.process = process
        parts = urlsplit(address)
        self.host, self.port = str(parts.netloc), int(parts.port or 0)
        self.origin = f"http://{self.host}"
        self._entry = f"{parts.path}?{parts.query}"
        self.cookie = ""

    def request(
        self,
        path: str,
        method: str = "GET",
        *,
        body: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Send a request with exactly these headers, and the cookie if there is one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        given = {"Host": self.host, **({"Cookie": self.cookie} if self.cookie else {}), **(headers or {})}
        connection.putrequest(method, path, skip_host=True)
        for name, value in given.items():
            connection.putheader(name, value)
        data = None if body is None else body.encode()
        if data is not None:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        response = connection.getresponse()
        answered = Answered(response.status, dict(response.getheaders()), response.read().decode())
        connection.close()
        return answered

    def enter(self) -> Answered:
        """Open the printed address, and keep the cookie."""
        answered = self.request(self._entry)
        self.cookie = answered.headers.get("set-cookie", "").partition(";")[0]
        return answered

    def csrf(self) -> str:
        """Return the secret that is in every page."""
        found = re.search(r'name="csrf" content="([^"]+)"', self.request("/").text)
        assert found is not None
        return found.group(1)

    def change(self, path: str, body: Mapping[str, object]) -> Answered:
        """Send a change as the page does."""
        headers = {"Origin": self.origin, "X-Flow-Csrf": self.csrf(), "Content-Type": "application/json"}
        return self.request(path, "POST", body=json.dumps(body), headers=headers)


def migration(rollback: str = "\n") -> str:
    """Return a session that asks whether to run a migration. By default, its rollback script is empty."""
    git("init", "-q")
    put_skill("migrate", MIGRATE)
    Path("db").mkdir()
    Path("db/schema.sql").write_text("create table orders (id int, note text);\n")
    Path("tests.sh").write_text("echo '2 tests passed: the migration applies to an empty database'\n")
    Path("migrate.sh").write_text("echo migrated\n")
    git("add", "-A")
    git("commit", "-qm", "before")
    session = str(told("step", "migrate", "--new", "-p", "change=drop orders.note")["session"])
    Path("db/0042_drop_column.sql").write_text("begin;\nalter table orders drop column note;\ncommit;\n")
    Path("db/0042_rollback.sql").write_text(rollback)
    allow("migrate")
    told("run", "tests", "--session", session)
    told("step", "migrate", "ok", "--session", session, "--note", "The migration and its rollback are ready.")
    finding = [
        "--severity",
        "SHOULD",
        "--text",
        "No backup of `orders.note` is taken",
        "--place",
        "db/0042_drop_column.sql:2",
    ]
    told("finding", "add", session, *finding)
    told("step", "migrate", "ok", "--session", session)
    return session


def separate_streams(errors: int) -> None:
    """Leave a command only its standard output at the terminal."""
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.dup2(errors, 2)


@contextmanager
def website(
    *options: str, at_terminal: bool = True, env: Mapping[str, str] | None = None, before: str = ""
) -> Iterator[Website]:
    """Run `flow ui` in the current folder in a child, at a terminal or in a pipe. *before* is Python that runs first."""
    import flowrail.web.server  # noqa: F401 - an extra; once here, so that no child imports it

    words = ["ui", *(() if env else ("--no-open",)), *options]
    environ = {**os.environ, **(env or {})}
    with tempfile.TemporaryFile("w+") as errors, open(os.devnull, "rb") as empty:
        if at_terminal:
            prepare = partial(separate_streams, errors.fileno())
            child, ours = start_at_terminal(words, env=environ, before=before, prepare=prepare)
        else:
            ours, theirs = os.pipe()
            streams = {0: empty.fileno(), 1: theirs, 2: errors.fileno()}
            child = start(words, streams=streams, env=environ, before=before)
            os.close(theirs)
        try:
            with open(ours, encoding="utf-8") as printed:
                address = printed.readline().strip()
                errors.seek(0)
                assert address, errors.read()
                yield Website(address, child)
        finally:
            child.send_signal(signal.SIGINT)
            child.wait(20)
