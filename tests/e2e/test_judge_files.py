"""Checks are judged with the judge files of the start: what is refused, what is said, and what a person can do."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine, Ended

PATIENCE = 90.0
PYTEST = f"{sys.executable} -m pytest -q"
WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
WEAK = "def test_add():\n    pass\n"
ROOMS = ("sealed", "restored")


@pytest.fixture
def project(cli: CommandLine) -> CommandLine:
    cli.environment.pop("UNTILDONE_ROOM")
    (cli.workspace / "calc.py").write_text(WRONG)
    (cli.workspace / "conftest.py").write_text("")
    (cli.workspace / "tests").mkdir()
    (cli.workspace / "tests" / "test_calc.py").write_text(TEST)
    subprocess.run(["git", "init", "--quiet", cli.workspace], check=True, timeout=60)
    return cli


def agent(cli: CommandLine, *files: tuple[str, str]) -> tuple[str, ...]:
    """An agent that writes these files and says that it is done."""
    lines = ["import pathlib, sys", "sys.stdin.read()"]
    lines += [f"pathlib.Path({path!r}).write_text({text!r})" for path, text in files]
    program = cli.home / "agent.py"
    program.write_text("\n".join((*lines, "print('<promise>COMPLETE</promise>')")))
    return ("--command", f"{sys.executable} {program}")


def run(cli: CommandLine, *arguments: str) -> Ended:
    return cli.run("run", "Make it right", *arguments, "--check", PYTEST, "-r", "1", "--json", patience=PATIENCE)


def gate(ended: Ended) -> dict[str, object]:
    results = [result for record in ended.records if record["event"] == "gates_ran" for result in record["results"]]
    found: dict[str, object] = results[-1]
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_honest_work_is_verified(project: CommandLine, room: str) -> None:
    ended = run(project, *agent(project, ("calc.py", RIGHT), ("tests/test_more.py", TEST)), "--room", room)
    assert ended.records[-1]["outcome"] == "verified", ended.output
    assert ended.records[-1]["proof"] == {"sealed": "clean", "restored": "checked"}[room]
    assert (gate(ended)["room"], gate(ended)["tampered"]) == (room, [])


@pytest.mark.parametrize("room", ROOMS)
def test_a_weakened_test_is_refused_and_a_person_may_accept_it(project: CommandLine, room: str) -> None:
    ended = run(project, *agent(project, ("tests/test_calc.py", WEAK)), "--room", room)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert gate(ended)["tampered"] == ["tests/test_calc.py"]
    assert "with the originals" in str(gate(ended)["reason"])
    assert (project.workspace / "tests" / "test_calc.py").read_text() == WEAK, (
        "the agent's file is back after the check"
    )
    approved = project.run("approve", "last", "tests/test_calc.py")
    assert approved.code == 0, approved.errors
    resumed = project.run("resume", "last", "--json", patience=PATIENCE)
    assert resumed.records[-1]["outcome"] == "verified", resumed.output
    assert resumed.records[-1]["iterations"] == 1, "the claim is judged again without another round"


def test_an_approval_covers_what_the_person_saw_and_no_later_change(project: CommandLine) -> None:
    weak = agent(project, ("tests/test_calc.py", WEAK))
    assert run(project, *weak).records[-1]["outcome"] == "budget"
    assert project.run("approve", "last", "tests/test_calc.py").code == 0
    (project.workspace / "tests" / "test_calc.py").write_text(f"{WEAK}\n\ndef test_other():\n    pass\n")
    resumed = project.run("resume", "last", "--json", patience=PATIENCE)
    assert resumed.records[-1]["outcome"] != "verified", resumed.output
    assert gate(resumed)["tampered"] == ["tests/test_calc.py"]


def test_a_check_that_rewrites_the_tests_is_refused(project: CommandLine) -> None:
    build = "import pathlib\npathlib.Path('tests/test_calc.py').write_text('def test_add():\\n    pass\\n')\n"
    (project.workspace / "gen.py").write_text("")
    command = f"{sys.executable} gen.py && {PYTEST}"
    chosen = (*agent(project, ("gen.py", build)), "--check", command, "-r", "1", "--json")
    ended = project.run("run", "Make it right", *chosen, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "it wrote to tests/test_calc.py while it ran" in str(gate(ended)["reason"])


HOOK = "def pytest_pyfunc_call(pyfuncitem):\n    return True\n"
WRITTEN = {
    "a hook": ("tests/conftest.py", HOOK),
    "settings": ("pytest.ini", "[pytest]\naddopts = --collect-only\n"),
    "settings among others": ("setup.cfg", "[metadata]\nname = calc\n\n[tool:pytest]\naddopts = -k nothing\n"),
    "a module": ("sitecustomize.py", "import os\n"),
}


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("case", WRITTEN)
def test_a_check_whose_first_step_steers_the_test_runner_is_refused(project: CommandLine, case: str, room: str) -> None:
    path, text = WRITTEN[case]
    (project.workspace / "setup.cfg").write_text("[metadata]\nname = calc\n")
    (project.workspace / "gen.py").write_text("")
    build = f"import pathlib\npathlib.Path({path!r}).write_text({text!r})\n"
    command = f"{sys.executable} gen.py && {PYTEST}"
    chosen = (*agent(project, ("calc.py", RIGHT), ("gen.py", build)), "--check", command, "-r", "1", "--json")
    ended = project.run("run", "Make it right", *chosen, "--room", room, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    if case in ("a hook", "a module"):
        assert f"it wrote to {path} while it ran" in str(gate(ended)["reason"])


def test_a_check_that_writes_what_steers_no_runner_is_believed(project: CommandLine) -> None:
    (project.workspace / "setup.cfg").write_text("[metadata]\nname = calc\nversion = 1\n")
    build = (
        "import pathlib, shutil\n"
        "pathlib.Path('setup.cfg').write_text('[metadata]\\nname = calc\\nversion = 2\\n')\n"
        "pathlib.Path('build').mkdir()\n"
        "shutil.copytree('tests', 'build/tests')\n"
        "shutil.copy('conftest.py', 'tests')\n"
        "pathlib.Path('build/tests/conftest.py').write_text('A = 1')\n"
    )
    (project.workspace / "gen.py").write_text("")
    command = f"{sys.executable} gen.py && {PYTEST}"
    chosen = (
        *agent(project, ("calc.py", RIGHT), ("gen.py", build)),
        "--check",
        f"{command} tests",
        "-r",
        "1",
        "--json",
    )
    ended = project.run("run", "Make it right", *chosen, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "verified", ended.output


def test_a_check_that_formats_the_tests_first_is_believed(project: CommandLine) -> None:
    untidy = TEST.replace("add(1, 2)", "add( 1,2 )")
    (project.workspace / "tests" / "test_calc.py").write_text(untidy)
    tidy = "p='tests/test_calc.py'; t=open(p).read(); n=t.replace('add( 1,2 )', 'add(1, 2)'); n == t or open(p, 'w').write(n)"
    (project.workspace / "tidy.py").write_text(f"{tidy}\n")
    command = f"{sys.executable} tidy.py && {PYTEST}"
    chosen = (*agent(project, ("calc.py", RIGHT)), "--check", command, "-r", "1", "--json")
    ended = project.run("run", "Make it right", *chosen, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "verified", ended.output


def test_what_one_check_writes_is_not_there_for_the_next(project: CommandLine) -> None:
    sneaks = f"{RIGHT}open('GNUmakefile', 'w').write('lint:\\n\\t@true\\n')\n"
    (project.workspace / "Makefile").write_text("lint:\n\tgrep -q 'nothing like that' calc.py\n")
    chosen = (*agent(project, ("calc.py", sneaks)), "--check", PYTEST, "--check", "make lint", "-r", "1", "--json")
    ended = project.run("run", "Make it right", *chosen, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "budget", ended.output


@pytest.fixture
def tool() -> Iterator[Path]:
    """A program of the person that is not on PATH, in a folder that sealed rooms do not show by themselves."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        program = Path(folder, "bin", "looks-right")
        program.parent.mkdir()
        program.write_text("#!/bin/sh\ngrep -q 'a + b' calc.py\n")
        program.chmod(0o755)
        yield program


@pytest.mark.parametrize("room", ROOMS)
def test_a_check_finds_a_program_that_it_names_by_its_path(project: CommandLine, tool: Path, room: str) -> None:
    chosen = (*agent(project, ("calc.py", RIGHT)), "--check", f"env A=1 {tool}", "--room", room, "-r", "1", "--json")
    ended = project.run("run", "Make it right", *chosen, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "verified", ended.output


def test_a_program_that_a_check_names_by_its_path_may_not_change(project: CommandLine, tool: Path) -> None:
    project.environment["UNTILDONE_SANDBOX"] = "off"  # in a box the agent cannot write there
    cheats = agent(project, (str(tool), "#!/bin/sh\nexit 0\n"))
    ended = project.run("run", "Make it right", *cheats, "--check", str(tool), "-r", "1", "--json", patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert str(tool) in str(gate(ended)["reason"])


def test_tests_that_the_code_under_test_skips_are_no_proof(project: CommandLine) -> None:
    skips = "def add(a, b):\n    import pytest\n    pytest.skip('later')\n"
    more = "def test_fine():\n    pass\n"
    (project.workspace / "tests" / "test_fine.py").write_text(more)
    ended = run(project, *agent(project, ("calc.py", skips)))
    assert ended.records[-1]["outcome"] == "budget", ended.output
    assert "calc.py, which is not a test, skips tests" in str(gate(ended)["reason"])


def test_the_agent_is_told_which_file_and_why(project: CommandLine) -> None:
    weak = agent(project, ("tests/test_calc.py", WEAK))
    ended = project.run("run", "Do it", *weak, "--check", PYTEST, "-r", "2", "--json", patience=PATIENCE)
    prompts = [record["prompt"] for record in ended.records if record["event"] == "iteration_start"]
    assert "You changed files that decide what the check means: tests/test_calc.py" in prompts[1]


@pytest.mark.parametrize(
    ("rule", "files", "outcome"),
    [
        (
            "keep",
            (("calc.py", RIGHT), ("tests/test_calc.py", f"{TEST}\n# more\n\n\ndef test_x():\n    pass\n")),
            "budget",
        ),
        ("keep", (("calc.py", RIGHT), ("tests/test_more.py", TEST)), "verified"),
        ("free", (("tests/test_calc.py", WEAK),), "verified"),
        ("add", (("calc.py", RIGHT), ("tests/test_calc.py", TEST.replace("    assert", "\n    assert"))), "verified"),
        ("add", (("conftest.py", "def pytest_collection_modifyitems(items):\n    items.clear()\n"),), "budget"),
        ("add", (("pytest.ini", "[pytest]\naddopts = --co\n"),), "budget"),
    ],
)
def test_the_rule_for_tests(project: CommandLine, rule: str, files: tuple[tuple[str, str], ...], outcome: str) -> None:
    ended = run(project, *agent(project, *files), "--tests", rule)
    assert ended.records[-1]["outcome"] == outcome, ended.output


def test_a_clean_room_with_tests_that_were_free_to_change_is_told_as_such(project: CommandLine) -> None:
    run(project, *agent(project, ("tests/test_calc.py", WEAK)), "--tests", "free")
    shown = " ".join(project.run("show", "last").output.split())
    assert "checked: in a clean room, with tests that were free to change: 1 passed" in shown


def test_a_check_sees_nothing_of_untildone_and_leaves_nothing_behind(project: CommandLine) -> None:
    state = project.home / ".local" / "state" / "untildone"
    check = f'! env | grep UNTILDONE_ && [ -z "$(ls -A .loop {state} 2> /dev/null | grep -v :)" ] && touch left'
    done = agent(project, ("calc.py", RIGHT))
    ended = project.run("run", "Do it", *done, "--check", check, "-r", "1", "--json", patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "verified", ended.output
    assert not (project.workspace / "left").exists()


def test_the_receipt_says_how_it_was_judged(project: CommandLine) -> None:
    run(project, *agent(project, ("calc.py", RIGHT)))
    (receipt,) = Path(project.workspace, ".loop", "history").glob("*/receipt.json")
    written = json.loads(receipt.read_text())
    assert (written["proof"], written["gates"][0]["room"], written["tests"]) == ("clean", "sealed", "add")
    assert written["gates"][0]["tree"] == written["tree_after"]


def test_a_room_that_the_machine_lacks_is_refused_before_anything_is_spent(project: CommandLine) -> None:
    project.environment["PATH"] = str(project.home)
    ended = run(project, *agent(project, ("calc.py", RIGHT)), "--room", "nowhere")
    assert ended.code == 2


LEAVES = "import os\n\n\ndef add(a, b):\n    os._exit(0)\n"


def test_signs_of_tampering_are_named_and_refuse_the_claim_if_wanted(project: CommandLine) -> None:
    """A check that does not see what the code does, and a report that does."""
    work = (*agent(project, ("calc.py", LEAVES)), "--check", "test -s calc.py", "-r", "1", "--json")
    ended = project.run("run", "Do it", *work, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "verified", ended.output
    assert "calc.py" in ended.errors
    assert "warning: " in ended.errors
    (project.workspace / "calc.py").write_text(WRONG)
    refused = project.run("run", "Do it", *work, "--fail-on-tampering", patience=PATIENCE)
    assert refused.records[-1]["outcome"] == "budget", refused.output
