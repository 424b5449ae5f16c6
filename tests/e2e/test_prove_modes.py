"""Covers `--prove` in every mode, in a folder without git: a claim that nothing proves is refused, and work is proved."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.test_phases import phase
from tests.e2e.test_prove import CALC, CHECK, a_test, boxes, results
from tests.e2e.test_supervise import AGREED, JUDGES
from tests.e2e.test_workflow import COMPLETE, INIT, VALIDATE, action, tasks
from tests.support.command_line import CommandLine

__all__ = ["boxes"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FIXED = {"write": {"calc.py": CALC.replace("-", "+")}}
DEVELOP = {**action("develop", tasks(grammar="completed", errors="completed")), **FIXED}
LEADS: dict[str, Any] = {"match_system": "You are the instructor"}
MODES: dict[str, tuple[tuple[str, ...], list[dict[str, Any]]]] = {
    "ralph": ((), [{**FIXED, "say": "<promise>COMPLETE</promise>"}]),
    "supervise": (
        ("--mode", "supervise", "--one-place"),
        [{**JUDGES, "say": f"Good.\n\n{AGREED}"}, {**FIXED, "say": "I mended it."}],
    ),
    "instruct": (
        ("--mode", "instruct"),
        [{**LEADS, "say": "Mend it."}, {**LEADS, "say": "[TASK_COMPLETED]"}, {**FIXED, "say": "I mended it."}],
    ),
    "phases": (("--mode", "phases", "--route", "direct"), [{**phase("Execution", summary="Mended."), **FIXED}]),
    "workflow": (("--mode", "workflow", "--auto"), [INIT, DEVELOP, VALIDATE, COMPLETE]),
}


@pytest.fixture
def project(cli: CommandLine, boxes: None) -> CommandLine:
    cli.environment["UNTILDONE_SCRIPT_STATE"] = str(cli.home / "state")
    (cli.workspace / "SUPERVISOR.md").write_text("Look at the edges.")
    (cli.workspace / "calc.py").write_text(CALC)
    (cli.workspace / "test_calc.py").write_text(a_test("calc", "add", "add(2, 3) == 5"))
    del cli.environment["UNTILDONE_ROOM"]
    return cli


@pytest.mark.parametrize("mode", MODES)
def test_work_is_proved_in_every_mode(project: CommandLine, mode: str) -> None:
    flags, script = MODES[mode]
    own = [flag for flag in flags if flag != "--one-place"]
    last = ("--one-place",) if "--one-place" in flags else ()
    run = ("run", "Fix it", *own, "--check", CHECK, "--prove", "--json")
    ended = project.run(*run, *project.script(*script), *last)
    assert (ended.records[-1]["outcome"], ended.records[-1]["proof"]) == ("verified", "causal"), ended.output
    found = results(ended)
    assert {"check", "repeat", "canary", "causal", "red_first", "mutants"} <= set(found)
    assert found["mutants"]["tests"] == "2 of 2 mutants died"


@pytest.mark.parametrize("mode", MODES)
def test_what_nothing_proves_is_refused_in_every_mode(project: CommandLine, mode: str) -> None:
    """The same turns over a function that no test looks at."""
    (project.workspace / "test_calc.py").write_text(a_test("calc", "add", "add(2, 3) is not None"))
    flags, script = MODES[mode]
    own = [flag for flag in flags if flag != "--one-place"]
    last = ("--one-place",) if "--one-place" in flags else ()
    run = ("run", "Fix it", *own, "-r", str(len(script)), "--check", CHECK, "--mutants", "--json")
    ended = project.run(*run, *project.script(*script), *last)
    assert ended.records[-1]["outcome"] != "verified", ended.output
    assert "tests must notice what these functions do" in results(ended)["mutants"]["reason"]
