"""The checks that run locally and in CI. Run all of them: python3 bootstrap.py check."""

import os
import shutil
import sys

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
    session.run("pytest", *(session.posargs or ["-n", "auto", "-q"]))


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
    """Build the sdist, and from it the wheel; check their metadata, and run the demo with the wheel."""
    session.install("--disable-pip-version-check", "build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", silent=True)
    built = [os.path.join("dist", name) for name in sorted(os.listdir("dist"))]
    session.run("twine", "check", "--strict", *built)
    session.install("--disable-pip-version-check", *(name for name in built if name.endswith(".whl")))
    demo = os.path.abspath(os.path.join("examples", "demo.py"))
    session.chdir(session.create_tmp())
    session.run("python", demo, silent=True)


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
def long(session: nox.Session) -> None:
    """Run the long forms of tests: a kill at every call, all hosts and skills, and new random values."""
    session.run("pytest", "-q", "-m", "long", "-n", "auto", "--hypothesis-profile=drawn", *session.posargs)


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Fuzz the readers of foreign documents with atheris (Linux), each for FUZZ_SECONDS."""
    session.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--group", "fuzz")
    session.run("pytest", "-q", "-m", "fuzz", *(session.posargs or ["tests/fuzz"]))
