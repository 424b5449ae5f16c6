"""Each mode end to end with a real agent program, through the command line, against a scripted model API."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.real_agents import CLAIM, Desk, Ran, bin_folder, claims, open_desk, shell, writes

from untildone.core.answers.blocked import HOW_TO_SAY
from untildone.testing.modelapi import Request, Step, environment

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(180)]
GUIDANCE = "Be strict about the spelling of names."
AGREED, DONE = "[TASK_COMPLETED {word}]", "[TASK_COMPLETED]"
REVIEWS = "What the person asked"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_desk("claude", tmp_path) as opened:
        subprocess.run(["git", "init", "--quiet", opened.workspace], check=True, timeout=10)
        yield opened


def came_to(ran: Ran) -> tuple[int, str, int]:
    return ran.code, ran.end["outcome"], ran.end["iterations"]


def history(desk: Desk) -> Path:
    (place,) = (desk.workspace / ".loop" / "history").iterdir()
    return place


def system_prompt(request: Request) -> str:
    return "\n".join(str(part["text"]) for part in request.body["system"])


def test_ralph_says_it_again_until_the_agents_own_last_message_holds_the_promise(desk: Desk) -> None:
    desk.api.load(
        [
            Step(tools=(shell("claude", f"echo '{CLAIM}'"),)),
            Step(text=f"I printed it. I shall say `{CLAIM}` once it is done."),
            Step(tools=(writes("claude", desk.workspace / "poem.txt", "a poem"),)),
            claims("There it is."),
        ]
    )
    ran = desk.run("Write a poem", "--check", "grep poem poem.txt")
    assert came_to(ran) == (0, "verified", 2), ran.errors
    first, *_, last = desk.api.turns
    assert "[System:" not in first.user_text
    assert last.user_text.startswith("Write a poem")
    assert "[System: This is iteration 2 of 5. Continue the task.]" in last.user_text
    (gate,) = json.loads((history(desk) / "receipt.json").read_text())["gates"]
    assert (gate["command"], gate["exit_code"]) == ("grep poem poem.txt", 0)


def words_of(turn: Request) -> str:
    """What the agent was told, without the sentence about being blocked that each prompt ends in."""
    return turn.user_text.removesuffix(f"\n\n{HOW_TO_SAY}")


# supervise


def transcript(desk: Desk, session: str) -> bytes:
    (file,) = (desk.home / ".claude" / "projects").rglob(f"{session}.jsonl")
    return file.read_bytes()


def test_a_copy_of_the_session_supervises_and_leaves_the_original_as_it_was(desk: Desk) -> None:
    (desk.workspace / "SUPERVISOR.md").write_text(f"{GUIDANCE}\n")
    feedback = ["The name is misspelt.", "Now the title is missing."]
    desk.api.load(
        [
            *(Step(text=text, match=REVIEWS) for text in (*feedback, f"Good.\n\n{AGREED}")),
            Step(tools=(writes("claude", desk.workspace / "poem.txt", "an ode to Ana"),)),
            *(Step(text=text) for text in ("I wrote it.", "I mended the name.", "I added the title.")),
        ]
    )
    kept = desk.folder / "kept"
    kept.mkdir()
    oldest = f"ls -t {desk.home}/.claude/projects/*/*.jsonl | tail -n 1"
    keep = f'test -e {kept}/name || {oldest} > {kept}/name; cp "$(cat {kept}/name)" {kept}/$(ls {kept} | wc -l)'

    # The check looks at the agent's own files, which a box hides.
    ran = desk.run("Write an ode to Anna", "--mode", "supervise", "--check", keep, "--sandbox", "off")

    assert came_to(ran) == (0, "verified", 3), ran.errors
    reviews = [turn for turn in desk.api.turns if REVIEWS in turn.user_text]
    work = [turn for turn in desk.api.turns if REVIEWS not in turn.user_text]
    words = [turn.user_text.partition("\n\n")[0] for turn in reviews]
    assert words == [f"{REVIEWS}:\nWrite an ode to Anna"] * 3, "only the person's words"
    assert all(GUIDANCE in system_prompt(turn) for turn in reviews)
    assert not any(GUIDANCE in json.dumps(turn.body) for turn in work)
    assert [words_of(turn) for turn in work[2:]] == feedback, "feedback is the next message, word for word"
    assert "an ode to Ana" in json.dumps(reviews[0].body), "the copy knows what was done"

    (own,) = {event["session_id"] for event in ran.of("session_opened") if event["role"] == "worker"}
    copies = {event["answer"]["session_id"] for event in ran.of("consultation_complete")}
    assert len(copies) == 3
    assert own not in copies
    check_only_the_worker_wrote(
        transcript(desk, own), [(kept / str(place)).read_bytes() for place in (1, 2, 3)], feedback
    )


def check_only_the_worker_wrote(after: bytes, before_reviews: list[bytes], feedback: list[str]) -> None:
    """What was there before a review is there after it, and nothing comes after it but the worker's next turn."""
    assert after == before_reviews[-1], "the last review left no byte"
    for before, later, text in zip(before_reviews, before_reviews[1:], feedback, strict=False):
        assert later.startswith(before)
        added = [json.loads(line) for line in later[len(before) :].splitlines()]
        said = [line["message"]["content"] for line in added if line.get("type") == "user"]
        assert [text in json.dumps(content) for content in said] == [True]


def test_another_program_supervises_and_is_shown_the_work(desk: Desk) -> None:
    (desk.workspace / "SUPERVISOR.md").write_text(f"{GUIDANCE}\n")
    both = with_codex(desk)
    both.api.load(
        [
            Step(text="The title is missing.", match=REVIEWS),
            Step(text=AGREED, match=REVIEWS),
            Step(tools=(writes("claude", both.workspace / "poem.txt", "an ode to Anna"),)),
            Step(text="I wrote it."),
            Step(text="I added the title."),
        ]
    )
    ran = both.run("Write an ode to Anna", "--mode", "supervise", "--supervisor", "codex")
    assert came_to(ran) == (0, "verified", 2), ran.errors
    looks = [turn for turn in both.api.turns if turn.dialect != "anthropic"]
    assert len(looks) == 2
    assert all(GUIDANCE in json.dumps(turn.body) for turn in looks)
    first, second = (turn.user_text for turn in looks)
    assert "Write an ode to Anna\n\nThe agent's last message:\n> I wrote it." in first
    assert "+an ode to Anna" in first
    assert "I added the title." in second
    assert "The title is missing." not in second, "earlier feedback is not shown"
    assert words_of(both.api.turns[-2]) == "The title is missing."


def with_codex(desk: Desk) -> Desk:
    """The same desk with a second program on its PATH."""
    path = f"{bin_folder('codex')}:{desk.env['PATH']}"
    return replace(desk, env={**environment("codex", desk.api.url, desk.home, retries=0), **desk.env, "PATH": path})


# instruct


def test_an_instructor_and_a_worker_each_keep_their_session(desk: Desk) -> None:
    told, then = "Write names.txt with one name in it.", "Add a second name to names.txt."
    desk.api.load(
        [
            Step(text=told, match="The person's instruction"),
            Step(text=then, match="The worker's answer:\nThere is one name."),
            Step(text=DONE, match="The worker's answer:\nThere are two names."),
            Step(tools=(writes("claude", desk.workspace / "names.txt", "Anna"),)),
            Step(text="There is one name."),
            Step(tools=(shell("claude", "echo Berta >> names.txt"),)),
            Step(text="There are two names."),
        ]
    )
    ran = desk.run("Collect two names", "--mode", "instruct", "--check", "grep -c '' names.txt | grep -x 2")
    assert came_to(ran) == (0, "verified", 2), ran.errors
    assert (desk.workspace / "names.txt").read_text() == "Anna\nBerta\n"
    sessions = {event["role"]: event["session_id"] for event in ran.of("session_opened")}
    assert len(set(sessions.values())) == 2
    starts = ran.of("iteration_start", "consultation_start")
    assert [(start["role"], start["session"]) for start in starts] == [
        *(("instructor", "new"), ("worker", "new")),
        *(("instructor", "resume"), ("worker", "resume"), ("instructor", "resume")),
    ]
    assert all(start["session_id"] == sessions[start["role"]] for start in starts if start["session"] == "resume")
    leads = [turn for turn in desk.api.turns if "You are the instructor" in system_prompt(turn)]
    builds = [turn for turn in desk.api.turns if turn not in leads]
    assert [words_of(turn) for turn in builds] == [told, told, then, then]
    assert "Collect two names" not in json.dumps([turn.body["messages"] for turn in builds])
    assert told in json.dumps(leads[-1].body["messages"]), "it remembers what it said"


# workflow


def told(updates: dict[str, Any] | None = None, message: str = "Done.") -> str:
    return f"```json\n{json.dumps({'skillStateUpdates': updates or {}, 'continue': True, 'message': message})}\n```"


def does(action: str, **step: Any) -> Step:
    return Step(match=f"You are executing {action} for loop", **step)


def test_a_workflow_goes_from_init_to_complete(desk: Desk) -> None:
    task = {"id": "names", "text": "Write the names"}
    passed = {"validate": {"passed": True, "failures": []}}
    desk.api.load(
        [
            does("init", text=told({"develop": {"tasks": [{**task, "status": "pending"}]}}, "One thing to do.")),
            does("develop", tools=(writes("claude", desk.workspace / "names.txt", "Anna"),)),
            does("develop", text=told({"develop": {"tasks": [{**task, "status": "completed"}]}}, "Wrote them.")),
            does("validate", tools=(shell("claude", "grep Anna names.txt"),)),
            does("validate", text=told(passed, "Anna is there.")),
            does("complete", text=told(message="There is one name.")),
        ]
    )
    ran = desk.run("Collect names", "--mode", "workflow", "--auto", "--check", "grep Anna names.txt")
    assert came_to(ran) == (0, "verified", 4), ran.errors
    assert [start["label"] for start in ran.of("iteration_start")] == ["init", "develop", "validate", "complete"]
    assert (desk.workspace / "names.txt").read_text() == "Anna\n"
    progress = (history(desk) / "progress.md").read_text()
    assert "## Round 1: init\n\nOne thing to do.\n\n- [ ] names: Write the names" in progress
    assert "## Round 2: develop\n\nWrote them.\n\n- [x] names: Write the names" in progress
    assert "## Round 3: validate\n\nAnna is there." in (history(desk) / "validation.md").read_text()


# phases

LIVE = Path(".claude") / "ralph-delta.local.md"


def phase(title: str, **step: Any) -> Step:
    return Step(match=rf"phase \d of \d: {title}", **step)


def says(**fields: Any) -> str:
    return f"So far so good.\n{json.dumps(fields)}"


def test_phases_planned_goes_through_plan_implementation_and_review(desk: Desk) -> None:
    desk.api.load(
        [
            phase("Planning", text=says(phase_done=True, summary="One file will do.")),
            phase("Implementation", tools=(writes("claude", desk.workspace / "names.txt", "Anna"),)),
            phase("Implementation", text=says(phase_done=True, summary="Wrote it.")),
            phase("Comprehensive review", text=says(phase_done=True, review_score=88)),
        ]
    )
    ran = desk.run("Collect names", "--route", "planned", "--check", f"test -e names.txt && test -e {LIVE}")
    assert came_to(ran) == (0, "verified", 3), ran.errors
    assert not (desk.workspace / LIVE).exists(), "the live file is archived"
    state = (history(desk) / "ralph-delta.state.md").read_text()
    for part in ("- Route: PLANNED", "- Status: COMPLETED", "- Completed Phases: [1, 2, 3]", "- Review Score: 88/100"):
        assert part in state
    assert "<promise>TASK_COMPLETE</promise>" in state


def test_phases_ralph_does_its_subtasks_and_mends_what_the_review_found(desk: Desk) -> None:
    """The program refuses to let the agent edit the live file, since it lies in `.claude`: the answer is enough."""
    subtasks = [{"id": "a", "text": "First name"}, {"id": "b", "text": "Second name", "depends_on": ["a"]}]
    tick = rf"sed -i 's/\[ \] Subtask 2/[x] Subtask 2/' {LIVE}"
    desk.api.load(
        [
            phase("Deep analysis", text=says(phase_done=True, summary="Two names are wanted.")),
            phase("Planning", text=says(phase_done=True, subtasks=subtasks)),
            phase("Subtasks", tools=(writes("claude", desk.workspace / "names.txt", "Anna"),)),
            phase("Subtasks", text=says(subtasks=[{"id": "a", "status": "completed"}])),
            phase("Subtasks", tools=(shell("claude", "echo berta >> names.txt"), shell("claude", tick))),
            phase("Subtasks", text=says(subtasks=[{"id": "b", "status": "completed"}])),
            phase("Comprehensive review", text=says(review_score=55, findings=["Berta is spelt with a small b."])),
            phase("Subtasks", tools=(shell("claude", "sed -i s/berta/Berta/ names.txt"),)),
            phase("Subtasks", text=says(subtasks=[{"id": "fix-5-1", "status": "completed"}])),
            phase("Comprehensive review", text=says(phase_done=True, review_score=95)),
        ]
    )
    ran = desk.run("Collect two names", "--route", "ralph", "--check", "grep Berta names.txt")
    assert came_to(ran) == (0, "verified", 7), ran.errors
    assert (desk.workspace / "names.txt").read_text() == "Anna\nBerta\n"
    labels = [start["label"] for start in ran.of("iteration_start")]
    assert labels == ["analysis", "plan", "subtasks", "subtasks", "review", "subtasks", "review"]
    assert not (desk.workspace / LIVE).exists()
    state = (history(desk) / "ralph-delta.state.md").read_text()
    for part in (
        *("- Route: RALPH", "- Completed Phases: [1, 2, 3, 4]", "- Current Subtask: 3 / 3", "- Review Score: 95/100"),
        *("- [x] Subtask 2: Second name (after 1)", "- [x] Subtask 3: Berta is spelt with a small b."),
    ):
        assert part in state
    assert "- Review score: 95/100" in (history(desk) / "report.md").read_text()
