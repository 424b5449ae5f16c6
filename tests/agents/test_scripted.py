"""The scripted agent, by real runs: the adapter makes the command line, the program acts, the adapter reads what it printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from untildone.agents import find
from untildone.core.answers.agreement import instructions
from untildone.core.answers.claims import has_marker, has_promise
from untildone.core.model import Answer, FailureKind, Permissions, SessionUse, Usage
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Request,
    Said,
    SessionKnown,
    Thought,
    ToolEnded,
    ToolStarted,
    Used,
)

PROMISE = "<promise>COMPLETE</promise>"
NOW = 1_000_000.0
AGENT = find("scripted")


@dataclass(frozen=True)
class Place:
    """A workspace with a script and a folder for the agent's own state."""

    workspace: Path
    state: Path

    def script(self, *turns: object) -> tuple[str, ...]:
        path = self.state / "script.json"
        path.write_text(json.dumps(turns), encoding="utf-8")
        return ("--script", str(path))

    def environment(self) -> dict[str, str]:
        return {**os.environ, "UNTILDONE_SCRIPT_STATE": str(self.state / "sessions")}

    def ask(self, request: Request) -> tuple[list[AgentEvent], Answer]:
        invocation = AGENT.invocation(request)
        ran = subprocess.run(
            invocation.argv,
            input=invocation.stdin,
            cwd=self.workspace,
            env={**self.environment(), **invocation.env},
            capture_output=True,
            timeout=30,
        )
        reader = AGENT.reader(request)
        events = [event for line in ran.stdout.split(b"\n") for event in reader.feed(line)]
        return events, reader.finish(ran.returncode, ran.stderr.decode(), NOW)

    def answer(self, args: tuple[str, ...], prompt: str = "do it", **how: Any) -> Answer:
        return self.ask(Request(prompt, args=args, **how))[1]

    def resume(self, answer: Answer, args: tuple[str, ...], prompt: str = "go on") -> Answer:
        return self.answer(args, prompt, session=SessionUse.RESUME, session_id=answer.session_id)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "state").mkdir()
    return Place(tmp_path / "workspace", tmp_path / "state")


def test_a_turn_is_told_as_events_and_comes_to_an_answer(place: Place) -> None:
    args = place.script(
        {
            "think": "hm",
            "write": {"src/a.txt": "one\n"},
            "append": {"src/a.txt": "two\n"},
            "say": ["First I look.", "Call {call} is done."],
            "run": ["cat", "src/a.txt"],
            "delete": "src/a.txt",
            "usage": {"tokens": 1200, "cost_usd": 0.25},
            "claim": True,
        }
    )
    events, answer = place.ask(Request("do it", fresh_id="abc-1", model="thinker", args=args))
    assert events == [
        SessionKnown("abc-1"),
        Thought("hm"),
        ToolStarted("write", "src/a.txt"),
        ToolEnded("write", ok=True, summary="4 characters"),
        ToolStarted("append", "src/a.txt"),
        ToolEnded("append", ok=True, summary="4 characters"),
        Said("First I look."),
        Said("Call 1 is done."),
        ToolStarted("run", "cat src/a.txt"),
        ToolEnded("run", ok=True, summary="one"),
        ToolStarted("delete", "src/a.txt"),
        ToolEnded("delete", ok=True, summary="src/a.txt"),
        Used(Usage(cost_usd=0.25, tokens=1200)),
        Said(PROMISE),
    ]
    assert answer == Answer(
        text=f"Call 1 is done.\n\n{PROMISE}",
        session_id="abc-1",
        usage=Usage(0.25, 1200),
        exit_code=0,
        agent_version="1",
        model="thinker",
    )
    assert not (place.workspace / "src/a.txt").exists()


def test_a_session_keeps_its_place_and_the_last_turn_repeats(place: Place) -> None:
    args = place.script({"say": "one"}, {"say": "two", "repeat": 2}, {"say": "three {call}"})
    answer = place.answer(args)
    said = [answer.text]
    for _ in range(5):
        answer = place.resume(answer, args)
        said.append(answer.text)
    assert said == ["one", "two", "two", "three 4", "three 5", "three 6"]
    assert place.answer(args).text == "one"


def test_a_fork_starts_where_its_original_stands_and_leaves_it_alone(place: Place) -> None:
    args = place.script({"say": "one"}, {"say": "two"}, {"say": "three"})
    original = place.answer(args, fresh_id="original")
    fork = place.answer(args, session=SessionUse.FORK, session_id="original", fresh_id="copy")
    assert (fork.session_id, fork.text) == ("copy", "two")
    assert place.resume(fork, args).text == "three"
    assert place.resume(original, args).text == "two"


def test_one_place_is_shared_by_all_sessions(place: Place) -> None:
    args = (*place.script({"say": "one"}, {"say": "two"}), "--one-place")
    assert [place.answer(args).text for _ in range(3)] == ["one", "two", "two"]


def test_turns_that_match_the_prompt_come_first_and_keep_their_own_count(place: Place) -> None:
    args = place.script(
        {"match": "(?i)review", "say": "not yet"},
        {"match": "(?i)review", "claim": "[TASK_COMPLETED]"},
        {"match_system": "architect", "say": "build it"},
        {"say": "working", "repeat": "forever"},
    )
    answer = place.answer(args, "do it")
    assert answer.text == "working"
    assert place.resume(answer, args, "Review this").text == "not yet"
    assert has_marker(place.resume(answer, args, "review again").text)
    assert place.resume(answer, args, "go on").text == "working"
    assert place.answer(args, "do it", system_prompt="You are the architect.").text == "build it"


@pytest.mark.parametrize(
    ("prompt", "system_prompt", "claim"),
    [
        ("do it", None, PROMISE),
        ("do it, then say <promise>FINE</promise>", None, "<promise>FINE</promise>"),
        ("do it", "Answer [TASK_COMPLETED] if it is done.", "[TASK_COMPLETED]"),
        (f"Look at {PROMISE}.\n\n{instructions('[TASK_COMPLETED]', 'K7F3')}", None, "[TASK_COMPLETED K7F3]"),
        (instructions("ship it", "K7F3"), None, "ship it K7F3"),
    ],
)
def test_a_claim_is_what_the_prompt_asks_for(place: Place, prompt: str, system_prompt: str | None, claim: str) -> None:
    assert place.answer(place.script({"claim": True}), prompt, system_prompt=system_prompt).text == claim


def test_a_system_prompt_too_long_for_an_argument_comes_with_the_prompt(place: Place) -> None:
    log = place.state / "log"
    place.answer((*place.script({"say": "ok"}), "--log", str(log)), system_prompt="rule " * 40_000)
    assert json.loads(log.read_text())["prompt"].startswith("<instructions>\nrule rule")


def test_the_log_tells_what_each_call_was_asked(place: Place) -> None:
    log = place.state / "log"
    args = (*place.script({"say": "one"}, {"say": "two"}), "--log", str(log))
    first = place.answer(args, "--help; $(rm -rf .) 'quoted'\nsecond line ünï")
    place.resume(first, args, "go on")
    log_entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [call["prompt"] for call in log_entries] == ["--help; $(rm -rf .) 'quoted'\nsecond line ünï", "go on"]
    assert [call["turn"] for call in log_entries] == [1, 2]


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_of_failure_can_be_acted_out(place: Place, kind: FailureKind) -> None:
    failure = place.answer(place.script({"say": "hm", "fail": {"kind": kind, "reset_in": 90}})).failure
    assert failure is not None
    assert (failure.kind, failure.reset_at) == (kind, NOW + 90)


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        ({"exit": 3}, FailureKind.CRASHED),
        ({"crash": True}, FailureKind.CRASHED),
        ({"crash": int(signal.SIGABRT)}, FailureKind.CRASHED),
        ({"garbage": ["not json", '{"event": "ans', "\udcff\udcfe"], "exit": 0}, FailureKind.MALFORMED),
        ({"fail": "auth"}, FailureKind.AUTH),
    ],
)
def test_a_run_that_ends_badly_is_a_failure_and_the_next_call_goes_on(
    place: Place, turn: dict[str, object], kind: FailureKind
) -> None:
    args = place.script(turn, {"say": "better"})
    answer = place.answer(args)
    assert answer.failure is not None
    assert answer.failure.kind == kind
    after = place.resume(answer, args)
    assert (after.text, after.failure) == ("better", None)


def test_garbage_between_the_lines_is_a_notice_and_no_more(place: Place) -> None:
    events, answer = place.ask(Request("x", args=place.script({"garbage": "Killed?", "say": "fine"})))
    assert any(isinstance(event, Notice) and "Killed?" in event.text for event in events)
    assert (answer.text, answer.failure) == ("fine", None)


@pytest.mark.parametrize("field", ["flood", "huge_line"])
def test_floods_and_huge_lines_end_in_the_answer(place: Place, field: str) -> None:
    invocation = AGENT.invocation(Request("x", args=place.script({field: 3_000_000, "say": "phew"})))
    ran = subprocess.run(
        invocation.argv, input=b"", cwd=place.workspace, env=place.environment(), stdout=subprocess.PIPE, timeout=30
    )
    assert len(ran.stdout) > 3_000_000
    assert json.loads(ran.stdout.splitlines()[-1])["text"] == "phew"
    assert (max(map(len, ran.stdout.splitlines())) > 3_000_000) == (field == "huge_line")


@pytest.mark.parametrize(
    ("permissions", "refused"),
    [(Permissions.READ, ("write", "run")), (Permissions.EDIT, ("run",)), (Permissions.WORK, ())],
)
def test_what_it_may_not_do_it_does_not_and_says_so(
    place: Place, permissions: Permissions, refused: tuple[str, ...]
) -> None:
    args = place.script({"write": {"a": "x"}, "run": ["touch", "b"], "say": "done"})
    answer = place.answer(args, permissions=permissions)
    assert (answer.denials, answer.failure) == (refused, None)
    assert ("write" in refused, "run" in refused) == (
        not (place.workspace / "a").exists(),
        not (place.workspace / "b").exists(),
    )


WRONG_SCRIPTS: list[tuple[object, list[str]]] = [
    ([{"say": "x"}, {"sya": "x"}], ["Turn 2", "'sya'", "known are: "]),
    ([{"say": 5}], ["Turn 1", "'say'", "not 5"]),
    ([{"say": "x"}, {"sleep": -1}], ["Turn 2", "'sleep'"]),
    ([{"sleep": float("nan")}], ["Turn 1", "'sleep'"]),
    ([{"repeat": 0}], ["Turn 1", "'repeat'"]),
    ([{"repeat": True}], ["Turn 1", "'repeat'"]),
    ([{"match": "("}], ["Turn 1", "'match'"]),
    ([{"fail": "tired"}], ["Turn 1", "'fail'", "overloaded"]),
    ([{"usage": {"tokens": 1.5}}], ["Turn 1", "'usage'"]),
    ([{"run": "ls"}], ["Turn 1", "'run'"]),
    ([{"write": {"../out": "x"}}], ["Turn 1", "'write'", "'../out' is not inside the workspace"]),
    ([{"delete": "/etc/hostname"}], ["Turn 1", "'delete'", "not inside the workspace"]),
    ([{"write": {"link/out": "x"}}], ["Turn 1", "'write'", "not inside the workspace"]),
    ([{"write": {"a\u0000b": "x"}}], ["Turn 1", "'write'"]),
    ([{"match": "never", "say": "x"}], ["No turn", "fits the prompt"]),
    ([[{"say": "x"}, 5]], ["Turn 1", "not an object"]),
    ([], ["not a list of turns"]),
    ({"turns": "x"}, ["not a list of turns"]),
    ("x", ["not a list of turns"]),
]


@pytest.mark.parametrize(("script", "words"), WRONG_SCRIPTS, ids=[json.dumps(script) for script, _ in WRONG_SCRIPTS])
def test_a_wrong_script_is_one_sentence_that_names_turn_and_field(
    place: Place, script: object, words: list[str]
) -> None:
    (place.workspace / "link").symlink_to(place.state)
    path = place.state / "script.json"
    path.write_text(json.dumps(script))
    failure = place.answer(("--script", str(path))).failure
    assert failure is not None
    assert failure.kind == FailureKind.UNAVAILABLE
    assert [word for word in words if word not in failure.message] == []
    assert "\n" not in failure.message
    assert not (place.state / "out").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--script", "/nowhere/script.json"), "cannot be read"),
        (("--script", "broken.json"), "is not JSON"),
        (("--scenario", "hero"), "invalid choice"),
        (("--wings",), "unrecognized arguments: --wings"),
    ],
)
def test_what_it_cannot_work_with_is_a_sentence(place: Place, args: tuple[str, ...], words: str) -> None:
    (place.workspace / "broken.json").write_text("[{")
    failure = place.answer(args).failure
    assert failure is not None
    assert failure.kind == FailureKind.UNAVAILABLE
    assert words in failure.message


@pytest.mark.parametrize(("session", "words"), [("gone", "No session found"), ("../x", "cannot be the name")])
def test_a_session_that_is_not_there_cannot_be_resumed(place: Place, session: str, words: str) -> None:
    failure = place.answer(place.script({"say": "x"}), session=SessionUse.RESUME, session_id=session).failure
    assert failure is not None
    assert failure.kind == FailureKind.UNAVAILABLE
    assert words in failure.message


def scenario(place: Place, *args: str, calls: int) -> list[Answer]:
    answers = [place.answer(("--scenario", *args))]
    for _ in range(calls - 1):
        answers.append(place.resume(answers[-1], ("--scenario", *args)))
    return answers


@pytest.mark.parametrize(
    ("args", "claims"),
    [
        (["truthful"], [False, False, True, True]),
        (["truthful", "--claims-on", "2"], [False, True, True]),
        (["truthful", "--claims-on", "1"], [True]),
        (["liar"], [True, True]),
        (["never"], [False] * 4),
        (["slow", "--seconds", "0.01"], [True]),
        (["flood", "--bytes", "200000"], [True]),
        (["limit", "--seconds", "5"], [False, True]),
        (["crash", "--claims-on", "2"], [False, True]),
        (["nonsense"], [False]),
    ],
)
def test_scenarios_claim_when_they_say(place: Place, args: list[str], claims: list[bool]) -> None:
    assert [has_promise(answer.text, PROMISE) for answer in scenario(place, *args, calls=len(claims))] == claims


def test_a_liar_changes_nothing_and_the_truthful_does(place: Place) -> None:
    scenario(place, "liar", calls=2)
    assert list(place.workspace.iterdir()) == []
    scenario(place, "truthful", calls=3)
    assert (place.workspace / "scripted-work.md").read_text() == "Step 1\nStep 2\nStep 3\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("limit", FailureKind.LIMIT), ("crash", FailureKind.CRASHED), ("nonsense", FailureKind.MALFORMED)],
)
def test_scenarios_that_fail(place: Place, name: str, kind: FailureKind) -> None:
    (answer,) = scenario(place, name, calls=1)
    assert answer.failure is not None
    assert answer.failure.kind == kind
    assert (answer.failure.reset_at is not None) == (name == "limit")


def test_the_script_may_come_from_the_environment_and_no_script_is_truthful(place: Place) -> None:
    assert "I did step 1" in place.answer(()).text
    _, path = place.script({"say": "from afar"})
    ran = subprocess.run(
        AGENT.invocation(Request("x")).argv,
        input=b"x",
        env={**place.environment(), "UNTILDONE_SCRIPT": path},
        cwd=place.workspace,
        capture_output=True,
        timeout=30,
    )
    assert b"from afar" in ran.stdout


@pytest.mark.parametrize(
    ("turn", "by_term"), [({"say": "a", "hang": True}, True), ({"ignore_term": True, "say": "a", "hang": True}, False)]
)
def test_it_hangs_until_it_is_ended_and_may_ignore_term(place: Place, turn: dict[str, object], by_term: bool) -> None:
    invocation = AGENT.invocation(Request("x", args=place.script(turn)))
    with subprocess.Popen(
        invocation.argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=place.workspace,
        env=place.environment(),
    ) as running:
        assert running.stdout is not None
        while b'"say"' not in running.stdout.readline():
            assert running.poll() is None
        running.terminate()
        if not by_term:
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(0.3)
            running.kill()
        assert running.wait(10) == -(signal.SIGTERM if by_term else signal.SIGKILL)


def test_a_child_leaves_the_group_and_outlives_the_agent(place: Place) -> None:
    (answer,) = scenario(place, "fork", "--seconds", "30", calls=1)
    assert has_promise(answer.text, PROMISE)
    (pid,) = map(int, (place.workspace / "children.txt").read_text().split())
    assert os.getsid(pid) == pid != os.getsid(0)
    os.kill(pid, signal.SIGKILL)


def test_call_log_has_the_start_and_the_answer_of_a_call(place: Place, tmp_path: Path) -> None:
    call_log = tmp_path / "call-log.jsonl"
    args = (*place.script({"say": "one"}, {"fail": "overloaded"}), "--one-place", "--call-log", str(call_log))
    place.answer(args)
    place.answer(args)
    lines = [json.loads(line) for line in call_log.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "answered", "start"]
    assert lines[0]["pid"] == lines[1]["pid"] != lines[2]["pid"]
    assert [lines[0]["alone"], lines[2]["alone"]] == [True, True]


def test_echo_repeats_the_whole_prompt(place: Place) -> None:
    assert place.answer(place.script({"echo": True}), "do it", system_prompt="Be good.").text == "Be good.\n\ndo it"
