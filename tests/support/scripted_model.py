"""A model that says what a test wrote, behind the interfaces that Claude Code and Codex call over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Messages = list[dict[str, Any]]
Block = Mapping[str, Any]
Turn = Block | Callable[[Messages], Block]
"""What the model says next: a block, or a function that makes it from the messages so far."""


def say(text: str) -> Block:
    """Return a turn that ends with this text."""
    return {"type": "text", "text": text}


def bash(command: str) -> Block:
    """Return a call of the shell."""
    return call("Bash", command=command, description="a command")


def call(tool: str, **arguments: object) -> Block:
    """Return a call of a tool."""
    return {"type": "tool_use", "name": tool, "input": arguments}


def text_of(messages: object) -> str:
    """Return all texts in *messages*: what the host, the user and the tools said."""
    if isinstance(messages, Mapping):
        return "\n".join(text_of(messages[key]) for key in ("text", "content", "output") if key in messages)
    if isinstance(messages, list):
        return "\n".join(map(text_of, messages))
    return str(messages)


class ScriptedModel:
    """Answers each conversation with the turns of the script whose key is in its messages."""

    def __init__(self, script: Mapping[str, Sequence[Turn]]) -> None:
        self.waiting = {key: list(turns) for key, turns in script.items()}
        self.messages: dict[str, Messages] = {}
        """The messages of the last request, for each key."""
        self.address = ""

    def next_block(self, messages: Messages) -> Block:
        """Return what the model says next in the conversation of *messages*."""
        key = next((key for key in self.waiting if key in text_of(messages)), "")
        self.messages[key] = messages
        turns = self.waiting.get(key) or [say("Nothing is left to do.")]
        turn = turns.pop(0)
        return turn(messages) if callable(turn) else turn

    def message(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the message that answers a request of Claude Code."""
        block = self.next_block(request["messages"]) if request.get("tools") else say("OK")
        is_call = block["type"] == "tool_use"
        number = len(str(request.get("messages")))
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model"),
            "content": [{**block, "id": f"toolu_{number}"} if is_call else dict(block)],
            "stop_reason": "tool_use" if is_call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }


@contextmanager
def served(script: Mapping[str, Sequence[Turn]]) -> Iterator[ScriptedModel]:
    """Serve a model on this machine while the block runs."""
    model = ScriptedModel(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_HEAD(self) -> None:
            self._send("application/json", "")

        def do_GET(self) -> None:
            self._send("application/json", "{}")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/responses"):
                events = _events_for_codex(model.next_block(request["input"]), len(str(request["input"])))
                self._send("text/event-stream", "".join(events))
                return
            if not path.endswith("/messages"):
                self._send("application/json", json.dumps({"input_tokens": 1}))
                return
            message = model.message(request)
            if request.get("stream"):
                self._send("text/event-stream", "".join(_events_for_claude_code(message)))
            else:
                self._send("application/json", json.dumps(message))

        def _send(self, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Ignore connections that the host closed."""

    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    model.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def _events_for_claude_code(message: Mapping[str, Any]) -> Iterator[str]:
    (block,) = message["content"]
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        arguments = json.dumps(block["input"])
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": arguments}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ):
        yield _event(event)


def _events_for_codex(block: Block, number: int) -> Iterator[str]:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    item: dict[str, Any] = {"id": f"item_{number}"}
    if block["type"] == "text":
        content = [{"type": "output_text", "text": block["text"]}]
        item |= {"type": "message", "role": "assistant", "content": content}
    else:
        assert block["name"] == "Bash"
        arguments = json.dumps({"cmd": block["input"]["command"]})
        item |= {
            "type": "function_call",
            "call_id": f"call_{number}",
            "name": "exec_command",
            "arguments": arguments,
        }
    for event in (
        {"type": "response.created", "response": {"id": f"response_{number}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"response_{number}", "usage": usage}},
    ):
        yield _event(event)


def _event(event: Mapping[str, object]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
