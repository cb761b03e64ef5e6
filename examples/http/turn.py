"""A turn over the HTTP API of `context serve`, with nothing but the standard library.

    context serve --port 8080
    python3 turn.py http://localhost:8080

The model is a function here, so that the program runs without a key. Replace `ask_model` by a call
of your provider, with the body as it is.
"""

import json
import sys
import time
import urllib.request

SETTINGS = {
    "model": "claude-sonnet-4-5",
    "system": "You know the weather.",
    "tools": [
        {
            "name": "weather",
            "description": "Returns the weather of a city.",
            "input_schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        }
    ],
}


def connect(url, token=None):
    """Returns a function that asks the service and returns its answer."""

    def api(method, path, **body):
        request = urllib.request.Request(url + path, method=method)
        request.add_header("content-type", "application/json")
        if token:
            request.add_header("authorization", f"Bearer {token}")
        data = json.dumps(body).encode() if body else None
        with urllib.request.urlopen(request, data) as answer:
            return json.load(answer)

    return api


def turn(api, chat, question, settings, ask_model, run_tool):
    step = api("POST", f"/v1/chats/{chat}/turns", settings=settings, question=question)
    replies = []
    while step["state"] != "answered":
        path = f"/v1/chats/{chat}/turns/{step['turn']}"
        if step["state"] == "call":
            time.sleep(step["request"]["wait_ms"] / 1000)
            replies.append(ask_model(step["request"]["body"]))  # {"status": 200, "body": …}
            step = api("POST", path, settings=settings, replies=replies)
            if step["state"] != "call" or step["request"]["number"] == 1:
                replies = []  # this call is answered
        else:
            results = [run_tool(call) for call in step["calls"]]  # {"call_id": …, "text": …}
            step = api("POST", path, settings=settings, results=results)
    return step["answer"]["text"]


def ask_model(body):
    """Stands for a provider: it asks for the weather, and then tells it."""
    last = body["messages"][-1]["content"]
    parts = last if isinstance(last, list) else []
    results = [part for part in parts if part["type"] == "tool_result"]
    if not results:
        call = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Lisbon"}}
        content, reason = [call], "tool_use"
    else:
        content = [{"type": "text", "text": f"It is {results[0]['content']} in Lisbon."}]
        reason = "end_turn"
    answer = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": reason,
        "usage": {"input_tokens": 20, "output_tokens": 10},
    }
    return {"status": 200, "body": answer}


def run_tool(call):
    city = json.loads(call["arguments"])["city"]
    return {"call_id": call["id"], "text": f"18 °C ({city})"}


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8080"
    api = connect(url, sys.argv[2] if len(sys.argv) > 2 else None)
    print(turn(api, "lisbon", "How is the weather in Lisbon?", SETTINGS, ask_model, run_tool))
