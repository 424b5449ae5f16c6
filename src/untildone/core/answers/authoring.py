"""The question to the author: another agent that writes acceptance tests from the task alone, before the work."""

from __future__ import annotations

from untildone.core.actions import Ask
from untildone.core.loop import Loop
from untildone.core.model import Role, SessionUse

_ROLE = """\
You write acceptance tests for a job that another agent will do. You know the task and the project as it is before the work. The other \
agent never sees your tests: they are put beside its work when it says that it is done, and they decide whether it is."""
_RULES = """\
- Test what the task says, every part of it and its edge cases, through names that the task or the project gives. What the task leaves \
open must not matter to your tests.
- Write new test files only, with names that no other file has, in the folder and style of the project's own tests, so that the checks \
find them. Nothing else that you write counts: existing files stay as they are.
- Your tests must fail now, because the job is not done, and pass once it is. Do not do the job.
- Use fixed expected values, no network, no clock and no random numbers."""


def ask(loop: Loop) -> Ask:
    """The question. It asks for tests and says nothing about the worker's answers."""
    task = "The task, as the person wrote it:\n" + "\n\n".join(loop.everything_asked)
    checks = "The checks, which must find your tests:\n" + "\n".join(f"- {command}" for command in loop.settings.checks)
    prompt = f"{task}\n\n{checks}\n\n{_RULES}"
    return Ask(Role.AUTHOR, f"{_ROLE}\n\n{prompt}", SessionUse.NEW, is_closed=True, carries_messages=False)


AGAIN = "`untildone resume` asks it again; a task that says what must hold helps"
AGAIN_SMALLER = "`untildone resume` asks it again; say in the task that a few small test files are enough"


def no_tests(profile: str) -> str:
    """Why the loop cannot go on: the author left no file that could be a test."""
    return f"{profile} wrote no acceptance tests that count: new test files that can be read. hint: {AGAIN}"


def not_run(profile: str, paths: tuple[str, ...], problem: str = "") -> str:
    """Why the loop cannot go on: no check runs the tests. `problem` says what kept the checks from running at all."""
    why = f" ({problem})" if problem else ""
    return (
        f"No check runs the acceptance tests that {profile} wrote: {', '.join(paths)}{why}. "
        "hint: `untildone resume` asks it again; say in the task where tests belong"
    )
