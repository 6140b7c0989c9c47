"""Where and when a command runs: the only place that looks up cwd, home, environment, clock and configuration."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flowrail.command import Command, Hint, Option
from flowrail.discovery.git_root import find_project_root
from flowrail.discovery.locations import Root, bundled_folder, config_folder, skill_roots
from flowrail.errors import ONLY_A_PERSON, TrustError, UsageError
from flowrail.hosts.conversation import agent_mark, host_id
from flowrail.machines.frozen import Frozen
from flowrail.machines.workflow import Workflow
from flowrail.storage.backend import Backend, open_backend
from flowrail.storage.named_store import named_store
from flowrail.storage.user_folders import state_folder
from flowrail.storage.user_mark import Owner
from flowrail.text.phrases import this_moment
from flowrail.text.safe_text import is_shown

if TYPE_CHECKING:
    from flowrail.machines.session_store import Store
    from flowrail.skills.loader import Loader

LONGEST_ACTOR = 200
BUNDLED_CONVENTIONS = os.path.join("planner", "resources")
"""The bundled skill whose resources are the conventions of last resort."""


class Confirmation(NamedTuple):
    """A question that only a person at a terminal can answer with yes."""

    question: str
    """The question."""
    lines: Sequence[str]
    """What the person decides about. Lines that begin with a blank are indented."""
    hint: str | Hint
    """How a person answers it, if there is no terminal here."""
    digest: str = ""
    """The digest of the content, if it is approved."""


def refuse_without_terminal(asked: Confirmation) -> None:
    """Refuse, because nobody can be asked here."""
    raise TrustError(ONLY_A_PERSON, hint=asked.hint, digest=asked.digest)


class Environment:
    """The surroundings of a command or a tool call. Each value is looked up once, when it is first used.

    *tell* gets a line for the user, such as that an incomplete record was removed. *conversation* is the
    conversation of the caller, by default the one that the host names in the environment; an empty text means none.
    *in_program* means that the store is named by a Python program, not on a command line. *cwd* is the folder in which
    skills and the project are searched, by default the current one. *confirm* asks the person at the terminal, and raises
    `TrustError` unless the answer is yes. *at_terminal* says whether the answer is printed at a terminal. *stream* gets
    the output of a command while it runs. A call waits *wait* seconds for a session or handoff that another process holds.
    """

    clock: Callable[[], str]
    """Returns this moment as a text."""
    workflows: Mapping[str, Workflow] = Frozen()
    """The workflows of the calling Python program, by name."""
    demands_evidence = True
    """Whether reports need evidence. If a program walks through a workflow, they do not."""

    def __init__(
        self,
        *,
        store: str | None = None,
        roots: Sequence[str] = (),
        tell: Callable[[str], object] = lambda _line: None,
        conversation: str | None = None,
        in_program: bool = False,
        cwd: str | None = None,
        confirm: Callable[[Confirmation], None] = refuse_without_terminal,
        at_terminal: bool = False,
        stream: Callable[[bytes], object] = lambda _data: None,
        wait: float = 10.0,
    ) -> None:
        self.wait = wait
        self.clock = this_moment
        self.stream = stream
        self._confirm = confirm
        self.at_terminal = at_terminal
        self._in_program = in_program
        self._cwd = cwd
        self._store = store
        self.tell = tell
        self._conversation = conversation
        self.extra = roots
        self.environ: Mapping[str, str] = os.environ

    def confirm(self, asked: Confirmation) -> None:
        """Ask the person at the terminal; raise `TrustError` unless the answer is yes.

        An agent's shell does not count. At a terminal the refusal names the variable that marks it.
        """
        if not self.is_persons:
            known = f"; `{self.agent_mark}` marks this as the shell of an agent" if self.at_terminal else ""
            raise TrustError(f"{ONLY_A_PERSON}{known}", hint=asked.hint, digest=asked.digest)
        self._confirm(asked)

    def replaced(self, **values: object) -> Environment:
        """Return a copy in which these attributes have other values. What was looked up stays as it is."""
        other = copy(self)
        other.__dict__.update(values)
        return other

    @cached_property
    def cwd(self) -> str:
        """The folder the command was called in."""
        try:
            return self._cwd or os.getcwd()
        except OSError:
            raise UsageError("the current folder is gone", hint="change to one that exists") from None

    @cached_property
    def home(self) -> str:
        """The user's home folder."""
        if self.environ.get("HOME") == "":
            raise UsageError("HOME is empty", hint="set it to your home folder, or unset it")
        return os.path.expanduser("~")

    @cached_property
    def state(self) -> str:
        """The folder of the user's own state."""
        return state_folder(self.environ, self.home)

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """Every folder that holds skills, nearest first."""
        return skill_roots(self.cwd, self.home, self.environ, self.extra)

    @cached_property
    def backend(self) -> Backend:
        """Where the records of the store are."""
        ambient = self._ambient_store or self._own_store
        if self._store is None:
            return self._backend_at(ambient)
        backend = self._backend_at(self._store)
        if backend.has_password and not self._in_program:
            raise UsageError(
                "a password on the command line is visible to others",
                hint="put it into FLOW_STORE, PGPASSWORD or ~/.pgpass",
            )
        if backend.is_folder:
            return backend
        same = self._backend_at(ambient)  # it may have the password that the option leaves out
        return same if same.shown == backend.shown else backend

    def _backend_at(self, address: str) -> Backend:
        return open_backend(address, cwd=self.cwd, folder=self._own_store, owner=Owner(self.state))

    @property
    def _own_store(self) -> str:
        """The store of the project, which is used if no other one is named."""
        return os.path.join(self.project, ".flow")

    @property
    def _ambient_store(self) -> str | None:
        """The store that the environment or the user's configuration names."""
        return named_store(self.environ, self.home)

    @cached_property
    def shown_store(self) -> str | None:
        """The store as printed commands name it.

        `None` for the project's own, which commands use anyway in this folder, even if `--store` names it; and for a
        database that the environment or the configuration names.
        """
        if not self.backend.is_folder:
            return self.backend.shown if self._store else None
        path = self.backend.folder
        if path == self._own_store and not self._ambient_store:
            return None
        if not is_shown(path):
            raise UsageError(
                f"the store's path contains an invisible character: {path}",
                hint="name a folder whose path has only visible characters",
            )
        return path

    def command(self, verb: str, *arguments: str, **options: Option) -> Command:
        """Return a command to print. It names the store, if it must."""
        return Command(verb, *arguments, store=self.shown_store, **options)

    @cached_property
    def project(self) -> str:
        """The folder of the project."""
        return find_project_root(self.cwd)

    @cached_property
    def conventions(self) -> tuple[str, ...]:
        """The folders that hold conventions for all skills: the project's, the user's, and ours."""
        return (
            os.path.join(self.project, ".claude", "conventions"),
            os.path.join(config_folder(self.home, self.environ), "conventions"),
            os.path.join(bundled_folder(), BUNDLED_CONVENTIONS),
        )

    @cached_property
    def loader(self) -> Loader:
        """Finds and loads workflows."""
        from flowrail.skills.loader import Loader  # a running session has its workflow, and reads no files

        return Loader(self.roots, self.state, self.project, self.conventions)

    @property
    def store_path(self) -> str:
        """The folder of the store; with a database, the folder of the sessions' files."""
        return self.backend.folder

    @cached_property
    def store(self) -> Store:
        """The store with the sessions."""
        from flowrail.machines.session_store import Store  # 10 ms, which commands about skills do without

        return Store(
            self.backend, named=self.shown_store, tell=self.tell, conversation=self.conversation or ""
        )

    @cached_property
    def conversation(self) -> str | None:
        """The conversation of a host that the command was called in, if any."""
        return host_id(self.environ) if self._conversation is None else self._conversation or None

    @cached_property
    def agent_mark(self) -> str:
        """The variable that marks the shell in which the command was called as an agent's; empty if none does."""
        return agent_mark(self.environ)

    @property
    def is_persons(self) -> bool:
        """Whether the command was called outside of any agent's shell, so that a person may decide."""
        return self.conversation is None and not self.agent_mark

    @property
    def now(self) -> str:
        """This moment, to the millisecond."""
        return self.clock()

    @property
    def moment(self) -> datetime:
        """This moment, to calculate with."""
        return datetime.fromisoformat(self.clock())

    @cached_property
    def by(self) -> str:
        """The actor's name as the environment gives it; every record contains it."""
        environ = self.environ
        named = environ.get("FLOW_ACTOR") or environ.get("USER") or environ.get("LOGNAME")
        return (named or _account())[:LONGEST_ACTOR]


def _account() -> str:
    """Return the name of the account, or its number if it has no name, as in some containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid {os.geteuid()}"
