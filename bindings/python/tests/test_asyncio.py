"""The face for asyncio: the same methods, in tasks, with cancelling."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import context_layer as context
import pytest
from context_layer import AsyncStore, Store


def test_tasks_share_a_chat() -> None:
    async def main() -> None:
        store = await AsyncStore.open("mem:")
        chat = await store.chat("ada", "lisbon")
        await asyncio.gather(*(chat.append([context.user(f"{n}")]) for n in range(20)))
        assert len(await chat.messages()) == 20
        with pytest.raises(context.NotFound):
            await store.chat("ada", "nowhere", existing=True)
        await store.close()

    asyncio.run(main())


def test_a_cancelled_append_is_whole_or_absent_and_the_chat_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        store = await AsyncStore.open(f"sqlite:{tmp_path / 'chats.db'}")
        chat = await store.chat("ada", "lisbon")
        for turn in range(50):
            pair = [context.user(f"q{turn}"), context.assistant(f"a{turn}")]
            task = asyncio.ensure_future(chat.append(pair))
            await asyncio.sleep(0.0001 * (turn % 10))
            task.cancel()
            await asyncio.wait([task])
            stored = await chat.messages()
            assert len(stored) % 2 == 0
        await chat.append([context.user("The last one.")])
        assert context.text_of((await chat.messages())[-1]) == "The last one."

    asyncio.run(main())


def test_a_time_limit_is_one_of_asyncio() -> None:
    async def main() -> None:
        store = await AsyncStore.open("mem:")
        chat = await store.chat("ada", "lisbon")
        await asyncio.wait_for(chat.append([context.user("In time.")]), timeout=10)

    asyncio.run(main())


def test_a_loop_that_ends_early_leaves_nothing_behind(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'chats.db'}"

    async def main() -> None:
        store = await AsyncStore.open(url)
        chat = await store.chat("ada", "lisbon")
        chat.append([context.user("Nobody waits.")])  # cancelled with the loop, or stored

    asyncio.run(main())
    assert len(Store.open(url).chat("ada", "lisbon").messages()) in (0, 1)


def test_both_faces_work_on_one_store() -> None:
    store = Store.open("mem:")
    store.chat("ada", "lisbon").append([context.user("Blocking.")])

    async def main() -> None:
        chat = await store.to_async().chat("ada", "lisbon")
        await chat.append([context.user("Async.")])
        assert len(chat.to_blocking().messages()) == 2

    asyncio.run(main())


def test_other_threads_run_while_rust_works(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:{tmp_path / 'chats.db'}")
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            chat = store.chat("ada", name)
            for n in range(20):
                chat.append([context.user(f"{n}")])
        except BaseException as error:  # shown by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"chat-{n}",)) for n in range(8)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failed == [] and time.monotonic() - began < 60
    assert all(len(store.chat("ada", f"chat-{n}").messages()) == 20 for n in range(8))


def test_without_a_loop_the_face_says_so() -> None:
    with pytest.raises(RuntimeError, match="event loop"):
        AsyncStore.open("mem:")
