"""The agent of the table in docs/peers.md, with LangGraph."""

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver


@tool
def find_trains(day: str) -> str:
    """Finds trains to Lisbon."""
    return f"{day}: 10:05"


@tool
def find_rooms(day: str) -> str:
    """Finds rooms in Lisbon."""
    return f"{day}: two rooms"


@tool
def book(what: str) -> str:
    """Books a train or a room."""
    return f"booked: {what}"


def main(question):  # the agent
    with SqliteSaver.from_conn_string("trips.db") as saver:
        agent = create_agent(
            "openai:gpt-4.1",
            tools=[find_trains, find_rooms, book],
            system_prompt="You book trips. Ask before you pay.",
            checkpointer=saver,
        )
        config = {"configurable": {"thread_id": "lisbon"}}
        messages = {"messages": [{"role": "user", "content": question}]}
        for piece, _ in agent.stream(messages, config, stream_mode="messages"):
            if isinstance(piece, AIMessageChunk):
                print(piece.text, end="", flush=True)
        newest = agent.get_state(config).values["messages"][-1]
        print("\n", newest.usage_metadata)


main("Two tickets to Lisbon on Friday, please.")
