"""The agent of the table in docs/peers.md, with the OpenAI Agents SDK."""

import asyncio

from agents import Agent, Runner, SQLiteSession, function_tool


@function_tool
def find_trains(day: str) -> str:
    """Finds trains to Lisbon."""
    return f"{day}: 10:05"


@function_tool
def find_rooms(day: str) -> str:
    """Finds rooms in Lisbon."""
    return f"{day}: two rooms"


@function_tool
def book(what: str) -> str:
    """Books a train or a room."""
    return f"booked: {what}"


async def main(question):  # the agent
    agent = Agent(
        name="trips",
        instructions="You book trips. Ask before you pay.",
        tools=[find_trains, find_rooms, book],
        model="gpt-4.1",
    )
    session = SQLiteSession("lisbon", "trips.db")
    result = Runner.run_streamed(agent, question, session=session)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            print(event.data.delta, end="", flush=True)
    print("\n", result.context_wrapper.usage)


asyncio.run(main("Two tickets to Lisbon on Friday, please."))
