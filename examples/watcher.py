"""A watcher: it answers a failed check with a message to the agent, and verifies the work once more at the end."""

from __future__ import annotations

import asyncio

import untildone
from untildone import events


async def main() -> None:
    check = "test $(wc -l < scripted-work.md) -ge 3"
    loop = await untildone.create(
        "Write a report in steps", agent="scripted", args=["--claims-on", "1"], checks=[check], max_iterations=5
    )
    await untildone.start(loop)
    async for entry in untildone.follow(loop):
        match entry.event:
            case events.GatesRan(results=results) if not all(result.passed for result in results):
                await untildone.say(loop, "The report needs three lines.")
                print("answered a failed check")
            case events.TaskComplete(outcome=outcome) | events.LoopPaused(outcome=outcome):
                print(outcome.word)
            case _:
                pass
    for compared in await untildone.verify(loop):
        print(compared.now.command, "passes" if compared.now.passed else "fails")


asyncio.run(main())
