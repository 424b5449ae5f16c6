"""Create a loop, follow its journal, and verify its checks again. Run it with a Python that has untildone installed."""

from __future__ import annotations

import asyncio

import untildone


async def main() -> None:
    check = "test $(wc -l < scripted-work.md) -ge 3"
    loop = await untildone.create("Write a report in steps", agent="scripted", max_iterations=5, checks=[check])
    await untildone.start(loop)
    async for entry in untildone.follow(loop):
        print(entry.seq, type(entry.event).__name__)
    loop = await untildone.wait(loop)
    assert loop.outcome is not None
    print(loop.outcome.word, "after", loop.spend.iterations, "rounds")
    for compared in await untildone.verify(loop):
        print(compared.now.command, "passes" if compared.now.passed else "fails")


asyncio.run(main())
