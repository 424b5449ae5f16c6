"""Three jobs at once, each in a worktree of its own. One that is not done in time is stopped."""

from __future__ import annotations

import asyncio
import subprocess

import untildone

QUICK: untildone.Settings = {"agent": "scripted", "worktree": True, "max_iterations": 5}
JOBS: dict[str, untildone.Settings] = {
    "Write the report": QUICK,
    "Write the other report": QUICK,
    "Take for ever": {**QUICK, "args": ["--scenario", "hang"]},
}


async def job(task: str, settings: untildone.Settings) -> str:
    loop = await untildone.create(task, **settings)
    await untildone.start(loop)
    try:
        async with asyncio.timeout(15):
            loop = await untildone.wait(loop)
    except TimeoutError:
        await untildone.stop(loop, now=True)
        loop = await untildone.wait(loop)
    return f"{task}: {loop.outcome.word if loop.outcome else loop.status.value}"


async def main() -> None:
    for line in await asyncio.gather(*(job(task, settings) for task, settings in JOBS.items())):
        print(line)


git = ("git", "-c", "user.name=Me", "-c", "user.email=me@example.org")
subprocess.run([*git, "init", "--quiet"], check=True)
subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=Begin"], check=True)
asyncio.run(main())
