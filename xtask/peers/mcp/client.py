"""The MCP SDK for Python as a client of ours, over both transports.

    client.py URL PROGRAM ARGUMENT…

The service at URL and the server that PROGRAM starts have the conversation `notes-agent`. Prints a
line for each test, as Rust's tests do. Ends with 0 if all tests ran, whatever they found.
"""

import asyncio
import sys
import traceback

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp_types import ResourceTemplateReference

TOOLS = {
    "list_chats",
    "search_history",
    "read_messages",
    "recall",
    "remember",
    "forget",
    "fork",
    "context_status",
    "compact",
}


async def text_of(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return "\n".join(block.text for block in result.content)


async def lists_tools(client):
    listed = await client.list_tools()
    assert {tool.name for tool in listed.tools} == TOOLS, listed
    for tool in listed.tools:
        assert tool.description and tool.input_schema["type"] == "object", tool


async def lists_chats(client):
    text = await text_of(client, "list_chats")
    assert text.startswith("notes-agent · ") and "17 messages" in text, text


async def searches(client):
    text = await text_of(client, "search_history", query="deposit venue")
    assert 'chat "notes-agent" · message "m' in text and "20 March" in text, text


async def reads_messages(client):
    text = await text_of(client, "read_messages", chat="notes-agent", first=1, last=2)
    assert text.startswith("[messages 1 to 2 of 17; later ones: "), text
    assert "What did we decide about the venue" in text, text


async def an_error_is_an_answer(client):
    result = await client.call_tool("read_messages", {"chat": "no-such-chat"})
    assert result.is_error and "no-such-chat" in result.content[0].text, result


async def reads_a_resource(client):
    listed = await client.list_resources()
    assert [str(it.uri) for it in listed.resources] == ["context://chats/notes-agent"], listed
    read = await client.read_resource("context://chats/notes-agent")
    assert "What did we decide about the venue" in read.contents[0].text, read


async def completes_the_name_of_a_chat(client):
    listed = await client.list_resource_templates()
    template = listed.resource_templates[0].uri_template
    reference = ResourceTemplateReference(type="ref/resource", uri=template)
    found = await client.complete(reference, {"name": "chat", "value": "not"})
    assert found.completion.values == ["notes-agent"], found


TESTS = [
    lists_tools,
    lists_chats,
    searches,
    reads_messages,
    an_error_is_an_answer,
    reads_a_resource,
    completes_the_name_of_a_chat,
]


async def over(name, server):
    async with Client(server) as client:
        for test in TESTS:
            try:
                await test(client)
                end = "ok"
            except Exception:  # A failed test is a line of the report.
                traceback.print_exc()
                end = "FAILED"
            print(f"test python_sdk::{name}::{test.__name__} ... {end}", flush=True)


async def main(url, program, *arguments):
    await over("http", url + "/mcp")
    parameters = StdioServerParameters(command=program, args=list(arguments))
    await over("stdio", stdio_client(parameters))


asyncio.run(main(*sys.argv[1:]))
