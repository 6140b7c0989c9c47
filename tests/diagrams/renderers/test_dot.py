"""A workflow for Graphviz: valid for any title, and the same every time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from support.pictures import FEW, ODD
from support.workflows import step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.dot import render
from flowrail.machines.definition.workflow import Workflow


def graphviz(text: str, form: str = "dot_json") -> str:
    """Return what Graphviz makes of *text*; the test is skipped where it is not installed."""
    program = shutil.which("dot")
    if program is None:
        pytest.skip("no Graphviz here: apt-get install graphviz")
    done = subprocess.run(
        [program, f"-T{form}"], input=text.encode(), capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@FEW
@given(ODD)
def test_every_text_stands_in_quotes_on_one_line(made: Workflow) -> None:
    text = render(picture(made), links={"w/look": 'look".svg'})
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)

    assert bare.count("{") == bare.count("}")
    assert re.fullmatch(r'[A-Za-z0-9_=,.;\[\]{}>\- "\n]+', bare), bare
    assert text == render(picture(made), links={"w/look": 'look".svg'})


@FEW
@given(ODD)
def test_graphviz_itself_reads_every_picture(made: Workflow) -> None:
    drawn = picture(made)

    read = json.loads(graphviz(render(drawn)))

    nodes = [each for each in read.get("objects", []) if not each["name"].startswith("cluster")]
    assert len(nodes) == len(drawn.nodes)
    assert len(read.get("edges", [])) == len(drawn.arrows)


def test_graphviz_shows_titles_as_they_are() -> None:
    title = 'say "hi" \\N & <b> {a|b} &amp;'

    svg = graphviz(render(picture(workflow(step("one", title=title)))), "svg")

    shown = svg.replace("&#45;", "-")
    assert "1 · say &quot;hi&quot; \\N &amp; &lt;b&gt; {a|b} &amp;amp;" in shown
