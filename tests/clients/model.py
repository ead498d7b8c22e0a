"""A scripted model on loopback. It asks for the tools of a script, one after the other, and keeps what it is shown."""

import json
import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from gzip import decompress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clients.dialects import DIALECTS, Body, Call, Dialect, Shown, Tool

FINISHED = "FINISHED"
# Cline and smolagents go on until the model calls one of these.
ENDINGS: Mapping[str, Mapping[str, Any]] = {
    "submit_and_exit": {"summary": "Every tool was called.", "verified": True},
    "final_answer": {"answer": FINISHED},
}
PREVIEW_ID = re.compile(r"preview.?id\W{1,12}([a-z2-7]{20})(?![A-Za-z0-9])", re.IGNORECASE)
ROUTING = {
    "next_speaker": "user",
    "reasoning": "",
    "model_choice": "flash",
    "complexity_reasoning": "",
    "complexity_score": 1,
}
MODEL = {
    "id": "scripted",
    "object": "model",
    "created": 1,
    "owned_by": "tests",
    "type": "model",
    "display_name": "Scripted",
}
PATIENCE_SECS = 120.0


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call of the script; `$preview_id` in its arguments stands for the last preview that the model has seen."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class ScriptedModel:
    """The script, and every request that offered tools."""

    script: Sequence[Step]
    is_held: bool = False  # after the script it does not answer
    shown: list[Shown] = field(default_factory=list[Shown])
    is_over: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, dialect: Dialect, body: Body) -> Call | str:
        """Return the next call of the script, or text if there is none or no tools are offered."""
        shown = Shown.of(dialect, body)
        if not shown.tools:
            is_routing = body.get("generationConfig", {}).get("responseMimeType") == "application/json"
            return json.dumps(ROUTING) if is_routing else FINISHED
        self.shown.append(shown)
        done = len(shown.results)
        if done >= len(self.script):
            self.is_over.set()
            if self.is_held:
                self.released.wait(PATIENCE_SECS)
            ending = next((each for each in shown.tools if each.name in ENDINGS), None)
            return Call(ending, ENDINGS[ending.name], "call_last") if ending else FINISHED
        step = self.script[done]
        tool = _named(shown.tools, step.tool)
        previews = [found for each in shown.results for found in PREVIEW_ID.findall(each)]
        arguments = json.dumps(step.arguments).replace("$preview_id", previews[-1] if previews else "none")
        return Call(tool, json.loads(arguments), f"call_{done}") if tool else f"NO TOOL {step.tool}"


def _named(tools: Sequence[Tool], wanted: str) -> Tool | None:
    """Return the tool with this name, or with a client's prefix before it."""
    found = [each for each in tools if _plain(each.name).endswith(_plain(wanted))]
    return min(found, key=lambda each: len(each.name), default=None)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@contextmanager
def serving(model: ScriptedModel) -> Generator[ScriptedModel]:
    """Serve the model on a free port of this machine."""

    class Handler(_Handler):
        served = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield model
    finally:
        model.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Write nothing: standard error belongs to the tests."""

    def do_HEAD(self) -> None:
        self._send("application/json", b"")

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"object": "list", "data": [MODEL], "models": []}).encode())

    def do_POST(self) -> None:
        path, body = self.path.partition("?")[0], json.loads(self._read() or b"{}")
        dialect = next((each for each in DIALECTS if each.ending in path), None)
        if dialect is None or "count" in path.lower():
            self._send("application/json", json.dumps({"input_tokens": 10, "totalTokens": 10}).encode())
            return
        reply = dialect.reply(self.served.answer(dialect, body))
        if not (body.get("stream") or "streamGenerate" in path):
            self._send("application/json", json.dumps(reply.whole).encode())
            return
        heads = [f"event: {each['type']}\n" if reply.are_named else "" for each in reply.events]
        lines = [f"{head}data: {json.dumps(each)}\n\n" for head, each in zip(heads, reply.events, strict=True)]
        lines += [f"data: {dialect.last_event}\n\n"] if dialect.last_event else []
        self._send("text/event-stream", "".join(lines).encode())

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = bytearray()
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        return decompress(raw) if self.headers.get("content-encoding") == "gzip" else bytes(raw)

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
