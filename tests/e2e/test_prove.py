"""Covers `--prove` and its parts in whole loops: what a check that passes is worth."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.boxes import boxes
from tests.support.command_line import CommandLine, Ended, until
from tests.support.repositories import git
from tests.support.terminal import Terminal

__all__ = ["boxes"]

CALC = "def add(a, b):\n    return a - b\n"
TEST = "import unittest\nfrom {module} import {name}\n\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n        assert {what}\n"
FIX = "sed -i 's/a - b/a + b/' calc.py"
MORE = "printf 'def double(a):\\n    return a * 2\\n' > more.py"
CHECK = f"{sys.executable} -m unittest"
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"


def a_test(module: str, name: str, what: str) -> str:
    return TEST.format(module=module, name=name, what=what)


@pytest.fixture
def project(cli: CommandLine, boxes: None) -> CommandLine:
    (cli.workspace / "calc.py").write_text(CALC)
    (cli.workspace / "test_calc.py").write_text(a_test("calc", "add", "add(2, 3) == 5"))
    del cli.environment["UNTILDONE_ROOM"]
    return cli


def ran(cli: CommandLine, work: str, *flags: str, check: str = CHECK) -> Ended:
    program = cli.workspace.parent / "agent.sh"
    program.write_text(f"cat > /dev/null\n{work}\necho '<promise>COMPLETE</promise>'\n")
    agent = ("--agent", "command", "--command", f"sh {program}")
    return cli.run("run", "Fix it", *agent, "--check", check, "-r", "1", "--json", *flags)


def written(cli: CommandLine, name: str, content: str) -> str:
    """A shell command that writes a file into the workspace."""
    source = cli.workspace.parent / f"new-{name}"
    source.write_text(content)
    return f"cp {source} {name}"


def results(ended: Ended) -> dict[str, dict[str, Any]]:
    ran = [each for record in ended.records if record["event"] == "gates_ran" for each in record["results"]]
    return {each["gate"]: each for each in ran}


def test_honest_work_is_proved(project: CommandLine) -> None:
    test = written(project, "test_more.py", a_test("more", "double", "double(2) == 4"))
    held_out = project.workspace.parent / "held"
    held_out.mkdir()
    (held_out / "test_held.py").write_text(a_test("calc", "add", "add(7, 8) == 15"))
    ended = ran(project, f"{FIX}; {MORE}; {test}", "--prove", "--repeat", "2", "--held-out", str(held_out))
    found = results(ended)
    assert (ended.records[-1]["outcome"], ended.records[-1]["proof"]) == ("verified", "held-out"), ended.output
    assert found["causal"]["tests"].startswith("1 failed before, ")
    assert found["held_out"]["tests"] == "1 held-out test passed"
    assert found["mutants"]["tests"].endswith("mutants died")
    assert list(found) == ["check", "repeat", "canary", "causal", "red_first", "held_out", "mutants"]
    [baseline] = [record for record in ended.records if record["event"] == "baseline_ran"]
    assert baseline["results"][0]["tests"] == "1 failed"
    receipt = json.loads(next(project.workspace.glob(".loop/history/*/receipt.json")).read_text())
    assert "held-out" in json.dumps(receipt)


@pytest.mark.parametrize(
    ("work", "flags", "gate", "reason"),
    [
        ("true", ("--causal",), "check", "exit code 1"),
        (
            f"{FIX}; sed 's/add(2, 3) == 5/True/' test_calc.py > test_more.py",
            ("--red-first",),
            "red_first",
            "test nothing of it",
        ),
        (f"{FIX}; {MORE}", ("--mutants",), "mutants", "mutants died; tests must notice"),
        (FIX, ("--canary", "--repeat", "2"), "", ""),
    ],
    ids=["no work", "a weak test", "a function without a test", "a fix"],
)
def test_what_a_proof_says(project: CommandLine, work: str, flags: tuple[str, ...], gate: str, reason: str) -> None:
    ended = ran(project, work, *flags)
    assert ended.records[-1]["outcome"] == ("budget" if gate else "verified"), ended.output
    if gate:
        result = results(ended)[gate]
        assert not result["passed"]
        assert reason in result["reason"]


@pytest.mark.parametrize(
    ("flags", "said"), [(("--prove",), True), (("--prove", "--held-out", "../held"), False), (("--causal",), False)]
)
def test_a_run_says_that_no_test_is_kept_from_the_agent(
    project: CommandLine, flags: tuple[str, ...], said: bool
) -> None:
    (project.workspace.parent / "held").mkdir()
    (project.workspace.parent / "held" / "test_held.py").write_text(a_test("calc", "add", "add(7, 8) == 15"))
    agent = ("--agent", "command", "--command", "echo nothing", "--check", "true")
    ended = project.run("run", "Fix it", *agent, "-r", "1", *flags)
    line = "The agent sees every test, so --prove cannot tell work that fits only these. hint: add --held-out 20%, "
    assert (line in ended.errors) == said, ended.errors


def test_a_check_that_passes_before_any_work_proves_nothing(project: CommandLine) -> None:
    (project.workspace / "calc.py").write_text(CALC.replace("-", "+"))
    ended = ran(project, "echo 'x = 1' > other.py", "--causal")
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "none of them can tell done from not done" in results(ended)["causal"]["reason"]


def test_a_run_that_hides_its_failures_is_found_by_a_planted_one(project: CommandLine) -> None:
    """The code under test makes every failure a pass, inside of the test runner."""
    patch = (
        "import _pytest.runner as r\n"
        "r.CallInfo.from_call = classmethod(lambda cls, func, when, reraise=None: "
        "cls(None, None, 0.0, 0.0, 0.0, when, _ispytest=True))\n"
    )
    (project.workspace.parent / "patch.py").write_text(patch)
    work = f"cat {project.workspace.parent}/patch.py calc.py > new.py; mv new.py calc.py"
    ended = ran(project, work, "--canary", check=PYTEST)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert not all(result["passed"] for result in results(ended).values())


def test_held_out_tests_fail_without_a_word_about_how(project: CommandLine, tmp_path: Path) -> None:
    held_out = tmp_path / "elsewhere"
    held_out.mkdir()
    (held_out / "test_held.py").write_text(a_test("calc", "add", "add(0, 0) == 0").replace("test_it", "test_zero"))
    special = "printf 'def add(a, b):\\n    return 5\\n' > calc.py"
    ended = ran(project, special, "--held-out", str(held_out), "-r", "2")
    assert ended.records[-1]["outcome"] == "budget", ended.output
    result = results(ended)["held_out"]
    assert "tests that you cannot see fail" in result["reason"]
    prompts = [record["prompt"] for record in ended.records if record["event"] == "iteration_start"]
    assert "tests that you cannot see fail" in prompts[-1]
    assert "test_zero" not in "".join(prompts)


@pytest.mark.parametrize("room", ["sealed", "restored"])
def test_code_that_a_check_runs_cannot_read_held_out_tests(project: CommandLine, room: str) -> None:
    """It would print them, and the output of a failed check is part of the next prompt."""
    held_out = project.home / "held"
    held_out.mkdir()
    (held_out / "test_held.py").write_text(a_test("calc", "add", "add(0, 0) == 0").replace("test_it", "test_zero"))
    spy = f"import pathlib\nprint(*(path.read_text() for path in pathlib.Path({str(held_out)!r}).glob('*.py')))\n"
    work = f"{written(project, 'spy.py', spy)}; cat spy.py >> calc.py"
    ended = ran(project, work, "--held-out", str(held_out), "-r", "2", "--room", room)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "calc.py" in ended.output
    assert "test_zero" not in ended.output


def test_held_out_tests_that_were_changed_are_refused(project: CommandLine, tmp_path: Path) -> None:
    project.without_box()  # in one, the agent does not reach them
    held_out = tmp_path / "elsewhere"
    held_out.mkdir()
    (held_out / "test_held.py").write_text(a_test("calc", "add", "False"))
    work = f"{FIX}; echo 'def test_held(): pass' > {held_out}/test_held.py"
    ended = ran(project, work, "--held-out", str(held_out))
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "not those of the loop's start" in results(ended)["held_out"]["reason"]


SPY = """\
import pathlib, subprocess
for path in (*pathlib.Path(".").glob("**/*"), *pathlib.Path("../other").glob("*"), *pathlib.Path("..").glob("*")):
    try:
        print("SPY", path, path.read_text(errors="replace"))
    except OSError:
        pass
print(subprocess.run("git log -p; git show HEAD", shell=True, capture_output=True, text=True).stdout)
"""


def test_a_share_of_the_tests_is_kept_back_from_the_agent_and_its_code(project: CommandLine) -> None:
    for number in range(4):
        source = a_test("calc", "add", f"add({number}, 3) == {number + 3}").replace(
            "test_it", f"test_open_sesame_{number}"
        )
        (project.workspace / f"test_n{number}.py").write_text(source)
    (project.workspace / ".gitignore").write_text("build/\n*~\n")
    (project.workspace / "__snapshots__").mkdir()
    (project.workspace / "__snapshots__/test_n3.py.snap").write_text("open_sesame_3")
    other = project.workspace.parent / "other"
    words = (("init", "-q"), ("add", "."), ("commit", "-qm", "all"), ("worktree", "add", "-q", str(other)))
    for each in words:
        git(project.workspace, *each)
    (project.workspace / "build").mkdir()
    for name in ("build/test_n3.py", "test_n3.py~", "../other/test_n3.py~"):
        (project.workspace / name).write_text("open_sesame_3")
    before = {path.name: path.read_bytes() for path in project.workspace.glob("test_*.py")}
    spy = written(project, "spy.py", SPY)
    work = f"{spy}; {sys.executable} spy.py; cat spy.py >> calc.py; echo x >> test_n0.py; sed -i '/^x$/d' test_n*.py; {FIX}"
    ended = ran(project, work, "--held-out", "40%", "-r", "1", check=f"{CHECK} -q; false")
    shown = {name for name in before if f"open_sesame_{name[6:7]}" in ended.output}
    assert shown == {"test_n0.py", "test_n1.py", "test_n2.py"}, ended.output
    assert "open_sesame_3" not in ended.output
    assert {path.name: path.read_bytes() for path in project.workspace.glob("test_*.py")} == before
    ended = ran(project, FIX, "--held-out", "40%", "-r", "1")
    assert (ended.records[-1]["outcome"], ended.records[-1]["proof"]) == ("verified", "held-out"), ended.output
    assert results(ended)["check"]["tests"] == "3 passed"
    assert results(ended)["held_out"]["tests"] == "2 held-out tests passed"


@pytest.fixture
def with_old_failure(project: CommandLine) -> CommandLine:
    (project.workspace / "test_old.py").write_text(
        "def test_old():\n    assert False\n\n\ndef test_fine():\n    pass\n"
    )
    return project


@pytest.mark.parametrize("flags", [(), ("--causal",)], ids=["a check", "a proof"])
def test_failures_of_the_start_do_not_block(with_old_failure: CommandLine, flags: tuple[str, ...]) -> None:
    ended = ran(with_old_failure, FIX, "--ignore-failing", *flags, check=PYTEST)
    assert ended.records[-1]["outcome"] == "verified", ended.output
    assert results(ended)["check"]["failing"] == ["test_old.py::test_old"]
    [baseline] = [record for record in ended.records if record["event"] == "baseline_ran"]
    assert baseline["results"][0]["failing"] == ["test_calc.py::Test::test_it", "test_old.py::test_old"]
    receipt = json.loads(next(with_old_failure.workspace.glob(".loop/history/*/receipt.json")).read_text())
    assert "test_old.py::test_old" in json.dumps(receipt)


@pytest.mark.slow
def test_a_person_at_a_terminal_says_what_the_failures_are(with_old_failure: CommandLine) -> None:
    """Nobody answers before a kill -9: the next runner asks again, without another run of the check."""
    cli = with_old_failure
    program = cli.workspace.parent / "agent.sh"
    program.write_text(f"cat > /dev/null\n{FIX}\necho '<promise>COMPLETE</promise>'\n")
    flags = ("--command", f"sh {program}", "--check", PYTEST, "--baseline", "-r", "1", "--plain")
    untildone = (sys.executable, "-m", "untildone")
    with Terminal((*untildone, "run", "Fix it", *flags), cli.workspace, cli.environment) as terminal:
        terminal.shows("2 tests fail before any work", 60)
        terminal.shows("Choose (1-2)", 60)
    loop_id = cli.shown()["loop_id"]
    with Terminal((*untildone, "resume", loop_id, "--plain"), cli.workspace, cli.environment) as terminal:
        terminal.shows("Choose (1-2)", 60)
        terminal.enter("ignore")
        assert terminal.ends(60) == 0, terminal.text
    logged = cli.run("log", loop_id, "--json").records
    names = [record["event"] for record in logged]
    assert (names.count("baseline_ran"), names.count("failures_explained")) == (1, 1)


def test_a_new_failure_blocks_although_others_are_ignored(with_old_failure: CommandLine) -> None:
    broken = written(with_old_failure, "test_new.py", "def test_new():\n    assert False\n")
    ended = ran(with_old_failure, f"{FIX}; {broken}", "--ignore-failing", check=PYTEST)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "test_new.py::test_new did not fail when the loop began" in results(ended)["check"]["reason"]


HIDDEN_SKIP = """\
def add(a, b):
    return a + b


def two():
    raise getattr(__import__("unit" + "test"), "Skip" + "Test")("later")
"""


@pytest.mark.parametrize("flags", [(), ("--ignore-failing",)], ids=["every test must pass", "some may fail"])
def test_code_that_skips_its_test_by_an_exception_is_not_believed(project: CommandLine, flags: tuple[str, ...]) -> None:
    """With `--ignore-failing` as many tests pass as before: one was fixed, and another one no longer runs."""
    (project.workspace / "calc.py").write_text(f"{CALC}\n\ndef two():\n    return 2\n")
    (project.workspace / "test_two.py").write_text("from calc import two\n\n\ndef test_two():\n    assert two() == 2\n")
    if flags:
        (project.workspace / "test_old.py").write_text("def test_old():\n    assert False\n")
    ended = ran(project, written(project, "calc.py", HIDDEN_SKIP), *flags, check=PYTEST)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "calc.py may keep the others from running" in results(ended)["check"]["reason"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--causal",), "--causal needs a check"),
        (("--ignore-failing",), "--ignore-failing needs a check"),
        (("--ignore-failing", "--check", "make test"), "cannot tell which tests fail in `make test`"),
        (("--ignore-failing", "--check", "pytest", "--room", "plain"), "needs a room of its own"),
        (("--prove", "--check", "true", "--room", "plain"), "--prove needs a room of its own"),
        (("--held-out", "nowhere", "--check", "true"), "does not exist"),
        (("--held-out", ".", "--check", "true"), "where the agent sees them"),
        (("--repeat", "0", "--check", "true"), "repeat"),
        (("--held-out", "0%", "--check", "true"), "more than 0 % and less than 100 %"),
        (("--held-out", "20%", "--check", "true", "--sandbox", "off"), "--held-out 20% needs a sandbox"),
        (("--held-out", "20%", "--check", "true", "--room", "restored"), "needs a room of its own"),
        (("--held-out", "20%", "--check", "true", "--children", "2"), "kept back from an agent that starts loops"),
    ],
)
def test_what_cannot_be_proved_is_refused_at_once(project: CommandLine, flags: tuple[str, ...], sentence: str) -> None:
    ended = project.run("run", "Fix it", "--agent", "command", "--command", "true", *flags)
    assert ended.code == 2
    assert sentence in ended.errors


@pytest.mark.parametrize(
    ("source", "flags", "gate", "reason"),
    [
        (
            "class Any(int):\n    __eq__ = lambda a, b: True\n    __hash__ = None\n\n\ndef add(a, b):\n    return Any(a)\n",
            ("--canary",),
            "canary",
            "1 of 1 tests pass although each of them was made to expect another result",
        ),
        (
            (
                "import inspect\n\n\ndef add(a, b):\n    if 'pa' + 'ss' in inspect.getsource(add).split('#')[0]:\n        return 0\n"
                "    return 5  # as the test wants it\n"
            ),
            ("--mutants",),
            "mutants",
            "nothing but `pass` was added",
        ),
    ],
    ids=["a result that equals everything", "code that fails on purpose when it is mutated"],
)
def test_code_that_deceives_proofs_is_found(
    project: CommandLine, source: str, flags: tuple[str, ...], gate: str, reason: str
) -> None:
    (project.workspace / "test_calc.py").write_text(
        "import unittest\n\nfrom calc import add\n\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n"
        "        self.assertEqual(add(2, 3), 5)\n"
    )
    ended = ran(project, written(project, "calc.py", source), *flags)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert reason in results(ended)[gate]["reason"], ended.output


@pytest.mark.slow
def test_a_proof_goes_on_after_a_kill_without_what_is_written_down(project: CommandLine) -> None:
    program = project.workspace.parent / "agent.sh"
    program.write_text(f"cat > /dev/null\n{FIX}\necho '<promise>COMPLETE</promise>'\n")
    flags = ("--command", f"sh {program}", "--check", f"sleep 1; {CHECK}", "--baseline", "--repeat", "2", "--causal")
    process = project.start("run", "Fix it", *flags, "-r", "1", "--json")
    assert process.stdout is not None
    records = map(json.loads, process.stdout)
    assert any(each["gate"] == "repeat" for record in records for each in record.get("results", ()) if "gate" in each)
    process.kill()
    process.communicate()
    ended = project.run("resume", "last", "--json")
    assert ended.records[-1]["outcome"] == "verified", ended.output
    logged = project.run("log", "last", "--json").records
    told = [each["gate"] for record in logged if record["event"] == "gates_ran" for each in record["results"]]
    assert sorted(told) == ["causal", "check", "repeat"]
    assert [record["event"] for record in logged].count("baseline_ran") == 1


@pytest.mark.slow
@pytest.mark.parametrize("room", ["sealed", "restored"])
def test_a_baseline_that_is_killed_in_its_middle_runs_once_more_and_is_written_once(
    project: CommandLine, room: str
) -> None:
    """Nothing of the check goes on, no agent was asked before the baseline, and no file is another one."""
    program, before = project.workspace.parent / "agent.sh", (project.workspace / "calc.py").read_bytes()
    program.write_text(f"cat > /dev/null\n{FIX}\necho '<promise>COMPLETE</promise>'\n")
    seconds = f"3.{os.getpid()}"
    flags = ("--command", f"sh {program}", "--check", f"sleep {seconds}; {CHECK}", "--baseline", "--room", room)
    process = project.start("run", "Fix it", *flags, "-r", "1", "--json")
    until(lambda: sleeping(seconds))
    process.kill()
    process.communicate()
    ended = project.run("resume", "last", "--json")
    assert ended.records[-1]["outcome"] == "verified", ended.output
    assert not sleeping(seconds)
    logged = project.run("log", "last", "--json").records
    [measured] = [record["results"] for record in logged if record["event"] == "baseline_ran"]
    assert (measured[0]["tests"], measured[0]["passed"]) == ("1 failed", 0)
    names = [record["event"] for record in logged]
    assert names.index("baseline_ran") < names.index("iteration_start")
    assert names.count("iteration_start") == 1
    assert (project.workspace / "calc.py").read_bytes() == before.replace(b"a - b", b"a + b")


def sleeping(seconds: str) -> bool:
    """Whether a process sleeps for so many seconds."""
    return any(each.info["cmdline"] == ["sleep", seconds] for each in psutil.process_iter(["cmdline"]))
