"""Seed 003, supervisor mode (supervise, wrap): its requirements, one test each. Those of a terminal are in `tests/hosts`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from untildone import agents, settings
from untildone.core.actions import AskAgent
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.events import MessageSent
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, Budget, Changes, Failure, FailureKind, Outcome, Role, SessionUse
from untildone.core.plugins.agent_io import Notice, Request
from untildone.operations import output
from untildone.operations.creating import loop_settings
from untildone.settings import guidance
from untildone.testing import driver
from untildone.testing.driver import AGREED, Driver, Reply

TASK = "Make a parser."
GUIDANCE = "Look at the edges."


def supervised(works: list[Reply | str], judges: list[Answer | str], **chosen: object) -> Driver:
    """A supervised loop; the worker's session is `w`, and each of its turns changes something."""
    workers, supervisors, turns = driver.from_list(works), driver.from_list(judges), iter(range(1000))

    def answers(action: AskAgent, loop: Loop) -> Reply | Answer | str:
        if action.ask.role is Role.SUPERVISOR:
            return supervisors(action, loop)
        said = workers(action, loop)
        reply = said if isinstance(said, Reply) else Reply(Answer(str(said)))
        return replace(reply, answer=replace(reply.answer, session_id="w"), changes=Changes(f"state {next(turns)}"))

    usual = {"mode": "supervise", "review": True, "supervisor_prompt": GUIDANCE, **chosen}
    return driver.looping(answers, Budget(iterations=20), task=TASK, **usual)  # type: ignore[arg-type]


def heard(ran: Driver, role: Role = Role.WORKER) -> list[str]:
    return [call.ask.prompt for call in ran.calls(role)]


def test_requirement_work_check_and_feedback_repeat_until_the_supervisor_agrees() -> None:
    ran = supervised(["I did it.", "I added tests."], ["Where are the tests?", AGREED])
    loop = ran.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.VERIFIED, 2)
    assert [call.ask.role for call in ran.asked] == [Role.WORKER, Role.SUPERVISOR] * 2


def test_requirement_the_supervisor_looks_from_a_fork_and_the_session_stays_as_it_was() -> None:
    ran = supervised(["I did it."], ["More.", AGREED])
    ran.run()
    assert {(call.session, call.session_id) for call in ran.calls(Role.SUPERVISOR)} == {(SessionUse.FORK, "w")}
    assert [call.session_id for call in ran.calls()] == [None, "w"], "the worker goes on in its own"


def test_requirement_the_supervisor_file_is_the_system_prompt() -> None:
    ran = supervised(["I did it."], [AGREED])
    ran.run()
    (call,) = ran.calls(Role.SUPERVISOR)
    assert (call.ask.system_prompt or "").startswith(GUIDANCE)


def test_requirement_the_supervisor_hears_the_persons_words_and_never_earlier_feedback() -> None:
    first = Reply(Answer("I did it."), meanwhile=(MessageSent("Now the docs."),))
    ran = supervised([first, "Both.", "Really."], ["Nothing of the kind.", AGREED])
    ran.run()
    assert set(heard(ran, Role.SUPERVISOR)) == {f"What the person asked:\n{TASK}\n\nNow the docs."}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a folder below, and a person with a global supervisor file."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "sub" / "deep").mkdir(parents=True)
    (tmp_path / ".config" / "untildone").mkdir(parents=True)
    (tmp_path / ".config" / "untildone" / guidance.SUPERVISOR_FILE).write_text("The global one.")
    return tmp_path / "project"


def found_in(folder: Path, home: Path) -> str:
    return guidance.supervisor_text(folder, {"HOME": str(home)})


def test_requirement_the_projects_file_comes_before_the_global_one(project: Path) -> None:
    assert found_in(project, project.parent) == "The global one."
    (project / guidance.SUPERVISOR_FILE).write_text("The project's.")
    assert found_in(project, project.parent) == "The project's."


def test_requirement_the_projects_file_is_found_below_its_folder_too(project: Path) -> None:
    (project / guidance.SUPERVISOR_FILE).write_text("The project's.")
    assert found_in(project / "sub" / "deep", project.parent) == "The project's."


def test_requirement_no_file_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no SUPERVISOR\.md") as refused:
        found_in(tmp_path, tmp_path)
    assert "untildone supervisor init" in refused.value.hint


@pytest.mark.parametrize(
    ("said", "agrees"),
    [
        ("[TASK_COMPLETED {word}]", True),
        ("All is well.\n\n[TASK_COMPLETED {word}]", True),
        ("**[TASK_COMPLETED {word}]**", True),
        ("Almost [TASK_COMPLETED {word}] but not quite.", False),
        ("```\n[TASK_COMPLETED {word}]\n```", False),
        ("`[TASK_COMPLETED {word}]`", False),
        ("> [TASK_COMPLETED {word}]", False),
        ("[TASK_COMPLETED {word}]\nBut the tests are weaker than before.", False),
        ("I would say [TASK_COMPLETED {word}] if it were done.", False),
        ("No.", False),
    ],
)
def test_requirement_agreement_is_the_marker_alone_on_a_line(said: str, agrees: bool) -> None:
    ran = supervised(["I did it."], [said, AGREED])
    ran.run()
    assert (len(heard(ran)) == 1) is agrees


def test_requirement_the_marker_may_carry_a_message() -> None:
    loop = supervised(["I did it."], ["[TASK_COMPLETED {word}: well done]"]).run()
    assert loop.outcome is Outcome.VERIFIED
    assert [gate.tail for gate in loop.gates] == ["well done"]


def test_requirement_the_marker_can_be_set() -> None:
    loop = supervised(["I did it."], ["[OK {word}]"], marker="[OK]").run()
    assert loop.outcome is Outcome.VERIFIED


def test_requirement_feedback_is_the_next_message_word_for_word() -> None:
    feedback = "1. The empty list.\n2. The docs:\n\n    def parse(): ...\n\nThat is all."
    ran = supervised(["I did it."], [feedback, AGREED])
    ran.run()
    assert heard(ran) == [TASK, feedback]


def test_requirement_an_agent_that_is_not_on_path_is_an_error(tmp_path: Path) -> None:
    chosen = settings.load(tmp_path, {"agent": "claude", "mode": "supervise"}, {"HOME": str(tmp_path)})
    with pytest.raises(AgentMissing, match="is not on PATH") as refused:
        loop_settings.loop_settings(chosen, str(tmp_path), {"HOME": str(tmp_path), "PATH": "/nowhere"})
    assert "install" in refused.value.hint


NO_TERMINALS = """
from untildone.core.errors import AgentMissing, UsageError
from untildone.hosts.wrap import job
class Outer:
    def size(self): return 24, 80
try:
    job.start(job.Program(("true",), {}, "/"), Outer())
except UsageError as refused:
    print(refused.sentence, refused.exit_code)
"""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap hides the terminals of the machine")
def test_requirement_a_pty_that_cannot_start_is_an_error() -> None:
    hidden = ("bwrap", "--ro-bind", "/", "/", "--tmpfs", "/dev", "--proc", "/proc")
    ended = subprocess.run(
        [*hidden, sys.executable, "-c", NO_TERMINALS], input="", capture_output=True, text=True, timeout=60
    )
    assert ended.stdout == "No terminal can be made for the agent: out of pty devices. 2\n", ended.stderr


@pytest.mark.parametrize("name", agents.own_names())
def test_requirement_a_broken_line_of_the_stream_is_a_warning_and_the_rest_is_read(name: str) -> None:
    if name == "command":
        return  # Its output is text: there is no line that could be broken.
    reader = agents.find(name).reader(Request("Do it.", command="program"))
    assert [type(event) for event in reader.feed(b'{"type": "broken')] == [Notice]
    assert reader.feed(b'{"type": "of a later version"}') == (), "it goes on"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(text=" \n "), Outcome.FAILED),
        (Answer(failure=Failure(FailureKind.CRASHED, "it crashed")), Outcome.FAILED),
        (Answer(failure=Failure(FailureKind.AUTH, "not logged in")), Outcome.BLOCKED),
    ],
)
def test_requirement_a_supervisor_that_fails_ends_the_loop_and_is_never_agreement(
    answer: Answer, outcome: Outcome
) -> None:
    loop = supervised(["I did it."], [answer]).run()
    assert loop.outcome is outcome
    assert "Supervisor" in loop.reason


def test_requirement_the_final_session_is_handed_back() -> None:
    claude = AgentChoice("claude", "claude", abilities=("resume", "fork"))
    loop = supervised(["I did it."], [AGREED], worker=claude).run()
    assert output.mode("supervise").hands_back
    assert output.session_command(loop) == ("claude", "--resume", "w")
