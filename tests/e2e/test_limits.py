"""A usage limit is a state, not a failure: the loop waits, says so, obeys meanwhile, and may carry on with another agent."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.support.command_line import CommandLine, Ended, finish, until

from untildone.core.values.codec import epoch

LATER = 600
SOON = 2


@pytest.fixture(autouse=True)
def without_box(cli: CommandLine) -> None:
    """These agents write down their calls beside the workspace."""
    cli.environment["UNTILDONE_SANDBOX"] = "off"


def limited(seconds: float, **more: Any) -> dict[str, Any]:
    return {"fail": {"kind": "limit", "message": "usage limit reached", "reset_in": seconds}, **more}


def claim(text: str) -> dict[str, Any]:
    return {"say": text, "claim": True}


def of(ended: Ended, *names: str) -> list[dict[str, Any]]:
    return [record for record in ended.records if record["event"] in names]


def configure(cli: CommandLine, **profiles: Path) -> None:
    """A profile of the scripted agent for each script; `NAME.log` records its calls."""
    told = "".join(
        f'[profiles.{name}]\nagent = "scripted"\nargs = ["--one-place", "--script={script}", "--log={cli.home / name}.log"]\n'
        f'env = {{ UNTILDONE_SCRIPT_STATE = "{cli.home / name}-state" }}\n'
        for name, script in profiles.items()
    )
    (cli.workspace / "untildone.toml").write_text(told)


def script(cli: CommandLine, name: str, *turns: dict[str, Any]) -> Path:
    path = cli.home / f"{name}.json"
    path.write_text(json.dumps(turns))
    return path


def calls(cli: CommandLine, name: str) -> int:
    log = cli.home / f"{name}.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def waits(cli: CommandLine) -> bool:
    found = cli.run("show", "last", "--json")
    return found.code == 0 and bool(found.records[0]["limits"])


def test_it_waits_until_the_time_that_the_agent_names_and_takes_no_iteration_for_it(cli: CommandLine) -> None:
    ended = cli.run("run", "x", "--json", "-r", "1", *cli.script(limited(SOON), claim("Now.")))
    assert ended.code == 0, ended.errors
    (limit,) = of(ended, "limit_reached")
    first, second = of(ended, "iteration_start")
    assert (limit["profile"], limit["message"], limit["level"]) == ("scripted", "usage limit reached", "WARN")
    assert (first["iteration"], second["iteration"]) == (1, 1)
    assert ended.records[-1]["iterations"] == 1
    assert time.time() >= epoch(limit["until"])
    assert re.search(r"waiting until [\d: -]+\(in \d s\): limit: usage limit reached", ended.errors), ended.errors


@pytest.mark.parametrize(
    ("order", "code", "outcome"),
    [("pause", 7, "paused"), ("stop", 5, "stopped")],
)
@pytest.mark.parametrize("urgency", [(), ("--now",)], ids=["", "now"])
def test_pause_and_stop_end_the_wait(
    cli: CommandLine, order: str, urgency: tuple[str, ...], code: int, outcome: str
) -> None:
    runner = cli.start("run", "x", "--json", *cli.script(limited(LATER)))
    until(lambda: waits(cli))
    assert cli.run(order, "last", *urgency).code == 0
    ended = finish(runner, patience=10)
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (code, outcome, 0)


def test_a_paused_wait_is_still_there_after_resume_and_resume_now_tries_at_once(cli: CommandLine) -> None:
    play = cli.script(limited(LATER), claim("It was lifted early."))
    runner = cli.start("run", "x", "--json", *play)
    until(lambda: waits(cli))
    cli.run("pause", "last")
    assert finish(runner, patience=10).code == 7

    again = cli.start("resume", "last", "--json")
    until(lambda: cli.shown()["status"] == "running")
    assert cli.shown()["current_iteration"] == 0
    cli.run("pause", "last")
    assert finish(again, patience=10).code == 7

    at_once = cli.run("resume", "last", "--now", "--json")
    assert (at_once.code, at_once.records[-1]["outcome"]) == (0, "claimed"), at_once.errors
    assert at_once.records[-1]["iterations"] == 1


def test_resume_now_wakes_the_runner_that_waits(cli: CommandLine) -> None:
    runner = cli.start("run", "x", "--json", *cli.script(limited(LATER), claim("It was lifted early.")))
    until(lambda: waits(cli))
    assert cli.run("resume", "last", "--now").code == 0
    ended = finish(runner, patience=10)
    assert (ended.code, ended.records[-1]["iterations"]) == (0, 1), ended.errors


def test_all_loops_of_a_profile_share_one_wait(cli: CommandLine) -> None:
    configure(cli, mine=script(cli, "mine", limited(LATER), claim("Never heard.")))
    first = cli.start("run", "one", "--agent", "mine", "--json")
    until(lambda: waits(cli))
    second = cli.start("run", "two", "--agent", "mine", "--json")
    until(lambda: cli.shown()["title"] == "two" and waits(cli))
    for loop in cli.loops:
        cli.run("stop", loop["loop_id"])
    ends = [finish(runner, patience=10) for runner in (first, second)]
    assert [end.records[-1]["iterations"] for end in ends] == [0, 0]
    assert calls(cli, "mine") == 1
    ((told,), (heard,)) = (of(end, "limit_reached") for end in ends)
    assert (heard["until"], heard["message"]) == (told["until"], told["message"])
    assert of(ends[1], "iteration_start") == []


def test_another_profile_of_the_same_agent_does_not_wait(cli: CommandLine) -> None:
    configure(cli, mine=script(cli, "mine", limited(LATER)), other=script(cli, "other", claim("No limit here.")))
    runner = cli.start("run", "one", "--agent", "mine", "--json")
    until(lambda: waits(cli))
    assert cli.run("run", "two", "--agent", "other", "--json").code == 0
    runner.terminate()
    assert finish(runner, patience=10).code == 130


def program(cli: CommandLine, name: str, *lines: str) -> str:
    path = cli.home / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


def test_another_command_does_not_wait_and_the_same_one_does(cli: CommandLine) -> None:
    limited_one = program(
        cli, "a.sh", f"echo asked >> {cli.home}/asked", "echo Usage limit reached. Try again in 1 hour."
    )
    other = program(cli, "b.sh", "echo '<promise>COMPLETE</promise>'")
    runner = cli.start("run", "one", "--command", limited_one, "--json")
    until(lambda: waits(cli))
    ended = cli.run("run", "two", "--command", other, "--json")
    assert (ended.code, of(ended, "limit_reached")) == (0, []), ended.errors
    third = cli.start("run", "three", "--command", limited_one, "--json")
    until(lambda: cli.shown()["title"] == "three" and waits(cli))
    for loop in cli.loops:
        cli.run("stop", loop["loop_id"])
    assert [finish(each, patience=30).code for each in (runner, third)] == [5, 5]
    assert (cli.home / "asked").read_text().split() == ["asked"]


def test_a_limit_that_a_command_got_over_is_no_wait(cli: CommandLine) -> None:
    persistent = program(
        cli, "agent.sh", "echo 'Rate limit reached. Try again in 1 hour.' >&2", "echo '<promise>COMPLETE</promise>'"
    )
    ended = cli.run("run", "x", "--command", persistent, "-r", "1", "--json")
    assert (ended.code, ended.records[-1]["outcome"]) == (0, "claimed"), ended.errors
    assert of(ended, "limit_reached") == []


def test_a_fallback_carries_on_and_the_worker_comes_back(cli: CommandLine) -> None:
    configure(
        cli,
        main=script(cli, "main", {"say": "A start."}, limited(SOON), claim("And the end.")),
        spare=script(cli, "spare", {"say": "Meanwhile {call}.", "sleep": 0.5, "repeat": "forever"}),
    )
    ended = cli.run("run", "x", "--agent", "main", "--fallback-agent", "spare", "-r", "20", "--json")
    assert (ended.code, ended.records[-1]["outcome"]) == (0, "claimed"), ended.errors
    profiles = [start["profile"] for start in of(ended, "iteration_start")]
    meanwhile = profiles.count("spare")
    assert profiles == ["main", "main", *["spare"] * meanwhile, "main"]
    assert meanwhile >= 1
    assert ended.records[-1]["iterations"] == meanwhile + 2
    sessions = {(opened["profile"], opened["session_id"]) for opened in of(ended, "session_opened")}
    assert len(sessions) == 2
    assert of(ended, "iteration_start")[-1]["session"] == "resume"


def test_when_the_fallback_is_at_its_limit_too_it_waits_for_the_first_that_lifts(cli: CommandLine) -> None:
    configure(
        cli,
        main=script(cli, "main", limited(LATER)),
        spare=script(cli, "spare", limited(SOON), claim("The spare one did it.")),
    )
    ended = cli.run("run", "x", "--agent", "main", "--fallback-agent", "spare", "--json")
    assert (ended.code, ended.records[-1]["iterations"]) == (0, 1), ended.errors
    assert [start["profile"] for start in of(ended, "iteration_start")] == ["main", "spare", "spare"]


@pytest.mark.parametrize(
    "told",
    [
        "Claude usage limit reached. Try again in 2 seconds.",
        "You’ve hit your usage limit. Upgrade to Pro or try again in 2 seconds.",
    ],
)
def test_a_limit_told_as_an_ordinary_answer_is_recognised(cli: CommandLine, told: str) -> None:
    program = cli.home / "agent.sh"
    program.write_text(
        f'#!/bin/sh\n[ -e "{cli.home}/asked" ] && echo "<promise>COMPLETE</promise>" && exit\n'
        f'touch "{cli.home}/asked"\necho "{told}"\n'
    )
    program.chmod(0o755)
    ended = cli.run("run", "x", "--command", str(program), "-r", "1", "--json")
    assert (ended.code, ended.records[-1]["iterations"]) == (0, 1), ended.errors
    assert len(of(ended, "limit_reached")) == 1


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_a_clock_time_is_that_of_the_machine(cli: CommandLine, zone: str) -> None:
    lifts = time.time() + 2 * 3600
    told = datetime.fromtimestamp(lifts, ZoneInfo(zone)).strftime("%I:%M %p")
    cli.environment["TZ"] = zone
    runner = cli.start("run", "x", "--json", "--command", f"echo Usage limit reached. Try again at {told}.")
    until(lambda: waits(cli))
    cli.run("stop", "last")
    (limit,) = of(finish(runner, patience=10), "limit_reached")
    assert abs(epoch(limit["until"]) - lifts) <= 60


@pytest.mark.parametrize(
    "told",
    [
        "I added a test for the message: usage limit reached. It passes.",
        "The API answers 429 when the rate limit is exceeded; I handle that in client.py now.",
        "Rate limit reached handling is implemented in client.py.",
    ],
)
def test_a_text_about_limits_is_none(cli: CommandLine, told: str) -> None:
    program = cli.home / "agent.sh"
    program.write_text(f'#!/bin/sh\necho "{told}"\necho\necho "<promise>COMPLETE</promise>"\n')
    program.chmod(0o755)
    ended = cli.run("run", "x", "--command", str(program), "--json")
    assert (ended.code, ended.records[-1]["iterations"]) == (0, 1), ended.errors
    assert of(ended, "limit_reached") == []


def test_a_damaged_note_about_a_limit_stops_nobody(cli: CommandLine) -> None:
    notes = cli.home / ".local" / "state" / "untildone" / "limits"
    notes.mkdir(parents=True)
    (notes / "scripted.json").write_text('{"until": "tomorrow"')
    assert cli.run("run", "x", *cli.script(claim("Done."))).code == 0
