"""The checks that run locally and in CI. Run all of them: python3 bootstrap.py check."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"  # use the environment that runs nox
nox.options.sessions = ["lint", "types", "imports", "docs", "tests", "bare"]
nox.options.stop_on_first_error = False
nox.options.error_on_missing_interpreters = False


@nox.session
def lint(session: nox.Session) -> None:
    """Check formatting and lint rules."""
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the package and of the tests."""
    session.run("mypy", "--num-workers", "auto")


@nox.session
def imports(session: nox.Session) -> None:
    """Check the import contracts."""
    session.run("lint-imports", silent=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Check the words of all texts, and build the site without warnings. The tests compare the reference with the code."""
    session.run("python", "docs/words.py")
    session.run("sphinx-build", "-W", "-n", "-q", "-E", "-b", "html", "docs", os.path.join("docs", "_build"))


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests, including README and docs."""
    # Many tests wait for other processes, so one more worker than there are cores saves a sixth of the time.
    workers = str((os.cpu_count() or 1) + 1)
    session.run("pytest", *(session.posargs or ["-n", workers, "-q"]))


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Run all tests and report the branch coverage. This is slower than the tests alone."""
    arguments = session.posargs or ["-n", "auto", "-q"]
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", *arguments)
    session.run("coverage", "combine", "-q", success_codes=[0, 1])
    session.run("coverage", "report")


@nox.session(venv_backend="venv", venv_params=["--without-pip"])
def bare(session: nox.Session) -> None:
    """Run the demo with only the run-time dependencies. The pip of this environment installs them."""
    pip = [sys.executable, "-m", "pip", "--python", os.path.join(session.bin, "python")]
    session.run(*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile", ".", external=True)
    session.chdir(session.create_tmp())
    session.run("flow", "--help", silent=True)
    session.run("flow", "check")
    session.run("python", os.path.join(session.invoked_from, "examples", "demo.py"), silent=True)


@nox.session(venv_backend="venv", default=False)
def release(session: nox.Session) -> None:
    """Build the sdist, the wheel and the constraints of a release, and use them in empty environments."""
    session.install("--disable-pip-version-check", "build", "twine", "pipx", "uv")
    for folder in ("dist", "release"):
        shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "build", silent=True)
    built = [Path("dist", name).resolve() for name in sorted(os.listdir("dist"))]
    session.run("twine", "check", "--strict", *map(str, built))
    wheel = next(path for path in built if path.suffix == ".whl")
    release = "-".join(wheel.name.split("-")[:2])
    constraints = Path("release", f"{release}-constraints.txt").resolve()
    constraints.parent.mkdir()
    constraints.write_text(_tested_versions(session, wheel), encoding="utf-8")
    python = _empty_environment(session, str(wheel), constraints)
    _run_demo(session, python)
    for line in _installation_lines():
        _install_as_shown(session, line)


def _tested_versions(session: nox.Session, wheel: Path) -> str:
    """Return the versions of everything that the wheel and its extras need, all from `constraints.txt`."""
    tested = Path("constraints.txt")
    everything = _empty_environment(session, f"{wheel}[mcp,sql,fleet,web]", tested)
    command = [everything, "-m", "pip", "list", "--format=freeze", "--exclude=flowrail", "--exclude=pip"]
    frozen = session.run(*command, "--exclude=setuptools", external=True, silent=True, log=False, stderr=None)
    pins, known = (
        {_normalized(line) for line in text.splitlines()}
        for text in (str(frozen), tested.read_text(encoding="utf-8"))
    )
    if pins - known:
        session.error(f"not in constraints.txt: {', '.join(sorted(pins - known))}")
    return "".join(f"{pin}\n" for pin in sorted(pins))


def _normalized(pin: str) -> str:
    """Return `name==version` with the name as package indexes write it."""
    name, _, version = pin.partition("==")
    return f"{re.sub('[-_.]+', '-', name).lower()}=={version}"


def _empty_environment(session: nox.Session, requirement: str, constraints: Path) -> str:
    """Install a requirement into an environment that has only pip, and return its Python."""
    folder = Path(session.create_tmp(), f"environment-{len(os.listdir(session.create_tmp()))}").absolute()
    session.run("python", "-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--constraint", str(constraints)]
    session.run(python, "-m", "pip", "install", *options, requirement, external=True)
    session.run(python, "-m", "pip", "check", external=True, silent=True)
    return python


def _run_demo(session: nox.Session, python: str) -> None:
    demo = str(Path("examples", "demo.py").resolve())
    with session.chdir(session.create_tmp()):
        session.run(python, demo, external=True, silent=True)


def _installation_lines() -> list[str]:
    """Return the lines of the README that install `flow` from a clone."""
    lines = re.findall(
        r"^    ((?:pipx|uv tool|pip) install \.)$", Path("README.md").read_text("utf-8"), re.MULTILINE
    )
    assert lines, "README.md shows no line that installs flow"  # noqa: S101
    return lines


def _install_as_shown(session: nox.Session, line: str) -> None:
    """Run a line of the README with an empty home folder, and then the installed command."""
    home = Path(session.create_tmp(), line.replace(" ", "-")).absolute()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    env = {"HOME": str(home), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "XDG_BIN_HOME": ""}
    program = home / ".local" / "bin" / "flow"
    if line.startswith("pip "):
        session.run("python", "-m", "venv", str(home / "environment"))
        program = home / "environment" / "bin" / "flow"
        line = f"{program.parent}/{line}"
    session.run(*line.split(), env=env, external=True, silent=True)
    session.run(str(program), "check", env=env, external=True, silent=True)


@nox.session(venv_backend="venv", default=False)
def lowest(session: nox.Session) -> None:
    """Run the tests of the core with the oldest versions that pyproject.toml allows."""
    session.install("--disable-pip-version-check", "--upgrade", "pip>=25.1")
    session.install(
        "--disable-pip-version-check", "-e", ".", "--group", "test", "-c", "constraints-lowest.txt"
    )
    session.run(
        "pytest", "-n", "auto", "-q", "tests/machines", "tests/cli", "tests/operations", "tests/skills"
    )


@nox.session(default=False)
def adherence(session: nox.Session) -> None:
    """Record which layer catches which mistake of an agent, and write the tables of the documentation."""
    session.run("python", "benchmarks/adherence/inject.py", *session.posargs)
    session.run("python", "docs/pages.py", silent=True)


@nox.session(default=False)
def pictures(session: nox.Session) -> None:
    """Test pictures and pages with Mermaid and axe (npm) and Chromium (apt)."""
    session.run(
        "npm", "install", "--no-save", "--no-audit", "--no-fund", "mermaid@11", "axe-core@4", external=True
    )
    session.run(
        "pytest",
        "-q",
        "-rs",
        "-n",
        "auto",
        "tests/diagrams",
        "tests/web",
    )


@nox.session(default=False)
def hosts(session: nox.Session) -> None:
    """Test hooks, permissions and the plugin with Claude Code and Codex themselves (npm) and a scripted model."""
    packages = ["@anthropic-ai/claude-code@2", "@openai/codex"]
    session.run("npm", "install", "--no-save", "--no-audit", "--no-fund", *packages, external=True)
    programs = os.path.abspath(os.path.join("node_modules", ".bin"))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    for host in ("claude", "codex"):
        session.run(os.path.join(programs, host), "--version", external=True)
    env = {"PATH": path, "PYTEST_DEBUG_TEMPROOT": tempfile.gettempdir()}  # Codex's sandbox hides /dev/shm
    session.run("pytest", "-q", "-rs", "-n", "auto", "tests/hosts", env=env)


@nox.session(default=False)
def long(session: nox.Session) -> None:
    """Run the long forms of tests: a kill at every call, all hosts and skills, and new random values."""
    session.run("pytest", "-q", "-m", "long", "-n", "auto", "--hypothesis-profile=drawn", *session.posargs)


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Fuzz the readers of foreign documents with atheris (Linux), each for FUZZ_SECONDS."""
    session.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--group", "fuzz")
    session.run("pytest", "-q", "-m", "fuzz", *(session.posargs or ["tests/fuzz"]))
