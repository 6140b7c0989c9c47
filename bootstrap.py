"""Set up the project in .venv and run one thing: ``python3 bootstrap.py demo`` or ``python3 bootstrap.py check``.

Needs Python 3.11 or later and a package index. The environment is created once, and packages are installed again if
pyproject.toml or constraints.txt changed. ``demo`` runs a skill from start to end. ``check`` runs all checks and
tests; further arguments are passed to nox: ``python3 bootstrap.py check -s lint``.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
OLDEST = (3, 11)
PIP_OPTIONS = {"demo": [], "check": ["--group", "dev", "--constraint", "constraints.txt"]}


def main(arguments: list[str]) -> int:
    """Run the command that *arguments* name and return the exit status."""
    if sys.version_info < OLDEST:
        return message(
            f"Python {OLDEST[0]}.{OLDEST[1]} or later is required; this is {sys.version.split()[0]}"
        )
    if not arguments or arguments[0] not in PIP_OPTIONS:
        return message(f"usage: python3 bootstrap.py {'|'.join(PIP_OPTIONS)}")
    command, options = arguments[0], arguments[1:]
    if not prepare(command):
        return 1
    if command == "demo":
        return run([PYTHON, ROOT / "examples" / "demo.py", *options])
    return run([PYTHON, "-m", "nox", "--noxfile", ROOT / "noxfile.py", *options])


def prepare(command: str) -> bool:
    """Create the environment and install the packages for a command, unless both are up to date."""
    if run([PYTHON, "-c", "import pip"], quiet=True) != 0:
        message("creating the environment .venv")
        if run([sys.executable, "-m", "venv", "--clear", VENV]) != 0:
            message("python3 -m venv failed; on Debian and Ubuntu, run: apt-get install python3-venv")
            return False
    marker, expected = VENV / f"installed-for-{command}", fingerprint()
    if marker.is_file() and marker.read_text(encoding="utf-8") == expected:
        return True
    message(f"installing the packages for {command}; the first time takes a minute")
    # Python compiles what is imported; to compile whole packages would take longer than the demo
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    options = PIP_OPTIONS[command]
    has_groups = "--group" not in options or run([*pip, "--upgrade", "pip>=25.1"]) == 0
    if not has_groups or run([*pip, "--editable", ".", *options]):
        message("the installation failed; see the output of pip above")
        return False
    marker.write_text(expected, encoding="utf-8")
    return True


def fingerprint() -> str:
    """Return everything that the installed packages depend on."""
    requirements = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    return f"{sys.version}\n{ROOT}\n{hashlib.sha256(requirements).hexdigest()}\n"


def run(command: list[object], *, quiet: bool = False) -> int:
    """Run *command* in the project's folder and return its exit status."""
    sys.stdout.flush()
    output = subprocess.DEVNULL if quiet else None
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        return subprocess.run(
            list(map(str, command)),
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            check=False,
            stdout=output,
            stderr=output,
        ).returncode
    except FileNotFoundError:
        return 127


def message(text: str) -> int:
    """Print a message on standard error and return the exit status for wrong use."""
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
