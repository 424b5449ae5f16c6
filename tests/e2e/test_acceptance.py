"""Covers `--acceptance`: another agent writes tests from the task alone, and the worker never sees them."""

from __future__ import annotations

import json
import subprocess
import time

import pytest
from tests.e2e.test_prove import CALC, CHECK, FIX, a_test, boxes, results
from tests.support.command_line import CommandLine, Ended

__all__ = ["boxes"]

SPECIAL = "printf 'def add(a, b):\\n    return 5\\n' > calc.py"
HIDDEN = a_test("calc", "add", "add(7, 8) == 15").replace("test_it", "test_sesame")


@pytest.fixture
def project(cli: CommandLine, boxes: None) -> CommandLine:
    (cli.workspace / "calc.py").write_text(CALC)
    (cli.workspace / "test_calc.py").write_text(a_test("calc", "add", "add(2, 3) == 5"))
    del cli.environment["UNTILDONE_ROOM"]
    return cli


def begun(cli: CommandLine, author: str, work: str, *flags: str, check: str = CHECK) -> subprocess.Popen[str]:
    """A run with an author and a worker that are shell scripts. The author finds its test in `$TEST`."""
    return cli.start(*_words(cli, author, work, check), *flags)


def ran(cli: CommandLine, author: str, work: str, *flags: str) -> Ended:
    """As `begun`, to its end."""
    return cli.run(*_words(cli, author, work, CHECK), *flags)


def _words(cli: CommandLine, author: str, work: str, check: str) -> tuple[str, ...]:
    outside = cli.workspace.parent
    (outside / "hidden.py").write_text(HIDDEN)
    (outside / "author.sh").write_text(f"cat > {outside}/asked; TEST={outside}/hidden.py\n{author}\necho written\n")
    (outside / "worker.sh").write_text(f"cat > /dev/null\n{work}\necho '<promise>COMPLETE</promise>'\n")
    profiles = f'[profiles.writer]\nagent = "command"\ncommand = "sh {outside}/author.sh"\n'
    (cli.workspace / "untildone.toml").write_text(profiles)
    agent = ("--agent", "command", "--command", f"sh {outside}/worker.sh", "--acceptance", "writer")
    return ("run", "Make add add", *agent, "--check", check, "-r", "1", "--json")


def events(ended: Ended, name: str) -> list[dict[str, object]]:
    return [record for record in ended.records if record["event"] == name]


def test_tests_of_another_author_decide(project: CommandLine) -> None:
    ended = ran(project, "cat $TEST > test_hidden.py; echo broken > calc.py; echo x > other.py", FIX)
    assert (ended.records[-1]["outcome"], ended.records[-1]["proof"]) == ("verified", "held-out"), ended.output
    assert results(ended)["acceptance"]["tests"] == "1 acceptance test passed"
    [tried] = events(ended, "acceptance_ran")
    assert [each["said"] for each in tried["results"]] == ["fails"]  # type: ignore[attr-defined]
    receipt = json.loads(next(project.workspace.glob(".loop/history/*/receipt.json")).read_text())
    assert receipt["acceptance"]["paths"] == ["test_hidden.py"]
    assert receipt["acceptance"]["profile"] == "writer"
    assert "other.py does not count" in receipt["acceptance"]["notes"][0]
    assert (project.workspace / "calc.py").read_text() == CALC.replace("-", "+")
    assert not list(project.workspace.glob("*hidden*"))


def test_special_cases_fail_without_a_word_about_how(project: CommandLine) -> None:
    ended = ran(project, "cat $TEST > test_hidden.py", SPECIAL, "-r", "2")
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "tests that you cannot see fail" in str(results(ended)["acceptance"]["reason"])
    prompts = [str(record["prompt"]) for record in events(ended, "iteration_start")]
    assert "tests that you cannot see fail" in prompts[-1]
    assert "sesame" not in "".join(prompts)


@pytest.mark.parametrize(
    ("author", "said"),
    [
        ("true", "wrote no acceptance tests that count"),
        (
            "echo 'def test(:' > test_bad.py",
            "writer wrote no acceptance tests that count. test_bad.py does not count: Python cannot read it (SyntaxError). hint: ",
        ),
        ("head -c 1100000 /dev/zero > test_big.py", "test_big.py does not count: it is too large."),
        (
            "for n in $(seq 70); do head -c 1000000 /dev/zero > test_$n.py; done",
            "The acceptance tests are too large: more than 64 MB. hint: ",
        ),
        ("mkdir -p spec; echo 'x' > spec/calc_spec.rb", "No check runs the acceptance tests"),
    ],
    ids=["nothing", "no Python", "a large file", "many large files", "another language"],
)
def test_an_author_without_tests_blocks_the_loop(project: CommandLine, author: str, said: str) -> None:
    ended = ran(project, author, FIX)
    assert ended.records[-1]["outcome"] == "blocked", ended.output
    [rested] = events(ended, "loop_paused")
    assert said in str(rested["reason"])
    assert not events(ended, "iteration_start")


def test_tests_that_pass_before_the_work_are_reported_and_prove_nothing(project: CommandLine) -> None:
    ended = ran(project, "sed 's/add(7, 8) == 15/True/' $TEST > test_hidden.py", FIX)
    [tried] = events(ended, "acceptance_ran")
    assert [each["said"] for each in tried["results"]] == ["passes"]  # type: ignore[attr-defined]
    assert ended.records[-1]["proof"] == "clean", ended.output


def test_the_author_is_asked_once_over_a_kill(project: CommandLine) -> None:
    """The runner is killed in the worker's first turn: what the author wrote is there, and decides."""
    calls, pid = (
        project.workspace.parent / "calls",
        "$(grep -rhoE '\"pid\": ?[0-9]+' .loop | grep -oE '[0-9]+' | tail -1)",
    )
    kill = f"[ -e {calls}.worker ] || {{ touch {calls}.worker; kill -9 {pid}; sleep 60; }}; {FIX}"
    author = f"echo x >> {calls}; cat $TEST > test_hidden.py"
    ended = ran(project, author, kill, "-r", "3", "--sandbox", "off")
    assert ended.code == -9, ended.output
    ended = project.run("resume", "--json")
    assert (ended.records[-1]["outcome"], ended.records[-1]["proof"]) == ("verified", "clean"), ended.output
    assert calls.read_text() == "x\n"
    assert "Make add add" in (project.workspace.parent / "asked").read_text()
    assert "test_sesame" in project.run("diff", "--acceptance").output


WRITTEN = ("iteration_start", "baseline_ran", "acceptance_ran", "gates_ran")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_proof_that_is_written_down_is_repeated_however_often_the_runner_is_killed(project: CommandLine) -> None:
    """The runner is killed after each result, in the middle of the next proof."""
    held, more = project.workspace.parent / "held", a_test("calc", "add", "add(1, 1) == 2")
    held.mkdir()
    (held / "test_held.py").write_text(more)
    flags = ("--prove", "--repeat", "2", "--held-out", str(held), "-r", "9")
    shape = project.workspace.parent / "shape"
    shape.write_text(more)
    process = begun(
        project, "cat $TEST > test_hidden.py", f"{FIX}; cat {shape} > test_more.py", *flags, check=f"sleep 1; {CHECK}"
    )
    killed = []
    for _ in range(30):
        assert process.stdout is not None
        happened = next((line for line in process.stdout if json.loads(line)["event"] in WRITTEN), "")
        time.sleep(0.3 if happened else 0)
        process.kill()
        process.communicate()
        if not happened:
            break
        killed.append(happened)
        process = project.start("resume", "last", "--json")
    assert len(killed) >= len(WRITTEN) + 6
    logged = project.run("log", "last", "--json").records
    told = [each["gate"] for record in logged if record["event"] == "gates_ran" for each in record["results"]]
    proofs = ("acceptance", "canary", "causal", "check", "held_out", "mutants", "red_first", "repeat")
    assert tuple(sorted(told)) == proofs, logged[-1]
    names = [record["event"] for record in logged]
    assert (names.count("baseline_ran"), names.count("acceptance_ran")) == (1, 1)
    assert logged[-1]["outcome"] == "verified", logged[-1]
