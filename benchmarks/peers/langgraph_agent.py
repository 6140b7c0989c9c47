"""LangGraph: a node for each step, `interrupt` to wait for the agent, and SqliteSaver to store the thread."""

import sqlite3
import sys
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

EDITED = "--edited" in sys.argv  # the step `check` was renamed
CHECK = "verify" if EDITED else "check"


class State(TypedDict):
    """The state of the graph."""

    outcome: str
    rounds: int


def write(state: State) -> dict:
    """Wait for the report."""
    return {"outcome": interrupt("write"), "rounds": 0}


def check(state: State) -> dict:
    """Wait for the report and count the attempt."""
    return {"outcome": interrupt("check"), "rounds": state["rounds"] + 1}


def tell(state: State) -> dict:
    """Wait for the report."""
    return {"outcome": interrupt("tell")}


def after_check(state: State) -> str:
    """Repeat the step, at most three times."""
    return CHECK if state["outcome"] == "iterate" and state["rounds"] < 3 else "tell"


def main(path: str, verb: str, outcome: str = "") -> None:
    """Handle one call."""
    graph = StateGraph(State)
    graph.add_node("write", write)
    graph.add_node(CHECK, check)
    graph.add_node("tell", tell)
    graph.add_edge(START, "write")
    graph.add_edge("write", CHECK)
    graph.add_conditional_edges(CHECK, after_check, [CHECK, "tell"])
    graph.add_edge("tell", END)
    with sqlite3.connect(path, check_same_thread=False) as connection:
        app = graph.compile(checkpointer=SqliteSaver(connection))
        thread = {"configurable": {"thread_id": "1"}}
        if verb == "start":
            app.invoke({"outcome": "", "rounds": 0}, thread)
        elif verb == "report":
            app.invoke(Command(resume=outcome), thread)
        state = app.get_state(thread)
        print(state.next[0] if state.next else "end", state.values.get("rounds", 0) + 1)


main(*[word for word in sys.argv[1:] if not word.startswith("--")])
