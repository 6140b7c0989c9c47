"""Set everything up, then do one thing: ``python3 bootstrap.py demo`` or ``python3 bootstrap.py check``.

Needs Python 3.11 or later and a package index, nothing else: the environment is made in ``.venv``
beside this file, once; what changed is installed again. Works from any folder, twice, and from paths
with spaces. ``demo`` steps a skill from start to end; ``check`` runs every check and test. Words
after ``check`` go to nox: ``python3 bootstrap.py check -s lint``.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
OLDEST = (3, 11)
WHAT = {"demo": [], "check": ["--group", "dev", "--constraint", "constraints.txt"]}


def main(words: list[str]) -> int:
    """Do what *words* say and return the exit status."""
    if sys.version_info < OLDEST:
        return say(f"Python {OLDEST[0]}.{OLDEST[1]} or later is needed; this is {sys.version.split()[0]}")
    if not words or words[0] not in WHAT:
        return say(f"say what to do: python3 bootstrap.py {'|'.join(WHAT)}")
    what, rest = words[0], words[1:]
    if not prepare(what):
        return 1
    if what == "demo":
        return run([PYTHON, HERE / "examples" / "demo.py", *rest])
    return run([PYTHON, "-m", "nox", "--noxfile", HERE / "noxfile.py", *rest])


def prepare(what: str) -> bool:
    """Make the environment and install what *what* needs, unless that has been done."""
    if run([PYTHON, "-c", "import pip"], quiet=True) != 0:
        say("making an environment in .venv")
        if run([sys.executable, "-m", "venv", "--clear", VENV]) != 0:
            say("python3 -m venv does not work here; on Debian and Ubuntu: apt-get install python3-venv")
            return False
    mark, now = VENV / f"installed-for-{what}", fingerprint()
    if mark.is_file() and mark.read_text(encoding="utf-8") == now:
        return True
    say(f"installing what {what} needs; this takes a minute the first time")
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if run([*pip, "--upgrade", "pip>=25.1"]) or run([*pip, "--editable", ".", *WHAT[what]]):
        say("the installation did not work; what pip said stands above")
        return False
    mark.write_text(now, encoding="utf-8")
    return True


def fingerprint() -> str:
    """Return what the installation depends on: the interpreter, the place, the declared needs."""
    needs = b"".join((HERE / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    return f"{sys.version}\n{HERE}\n{hashlib.sha256(needs).hexdigest()}\n"


def run(command: list[object], *, quiet: bool = False) -> int:
    """Run *command* in the project's folder and return its exit status."""
    sys.stdout.flush()
    out = subprocess.DEVNULL if quiet else None
    environment = {**os.environ, "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    try:
        return subprocess.run(
            [str(each) for each in command], cwd=HERE, env=environment, check=False, stdout=out, stderr=out
        ).returncode
    except FileNotFoundError:
        return 127


def say(text: str) -> int:
    """Tell the user, and return the status of a refusal."""
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
