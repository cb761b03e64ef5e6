"""Every program of the README runs. The model of the OpenAI Agents SDK is a server of this test."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


class Model(BaseHTTPRequestHandler):
    """Asks for trains once, and says what it was told."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        told = [item["output"] for item in request["input"] if "output" in item]
        answer = {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "model": "test",
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "output": [_said(told[-1]) if told else CALL],
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "find_trains",
    "arguments": '{"to": "Lisbon"}',
}


def _said(text: str) -> dict[str, object]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_of_the_readme_runs(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(PROGRAMS[number], f"README, program {number + 1}", "exec"), {"__name__": "readme"})
    if "Runner.run" in PROGRAMS[number]:
        assert capsys.readouterr().out.splitlines()[-1] == "10:05 to Lisbon"
