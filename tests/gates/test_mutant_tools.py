"""Mutants by Stryker and cargo-mutants: what they are run on, and how their reports are judged."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.gates.test_proofs import GREEN, proof, ran, work

from untildone.core.receipts.proving import TrialRan, TrialsRan
from untildone.core.values.value import replace
from untildone.gates._proofs import Verdict

OLD = "const add = (a, b) => a - b;\nmodule.exports = { add };\n"
NEW = "const add = (a, b) => a + b;\nmodule.exports = { add };\n"
SURVIVOR = "Word alive calc.js:1: ArithmeticOperator a - b"


def judged(output: str, path: str = "calc.js") -> Verdict:
    planned = proof("mutants").trials(work({path: OLD}, {path: NEW}))
    [trial] = planned.trials
    runs = (TrialRan(trial, replace(ran(*GREEN), tail=output)),)
    return proof("mutants").verdict(TrialsRan(runs, 1, planned.notes), 600.0)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("calc.js", ("node_modules/.bin/stryker run --mutate calc.js:1-1 ", "reports/mutation/mutation.json")),
        ("src/a b.ts", ("--mutate 'src/a b.ts:1-1'",)),
        ("src/lib.rs", ("cargo mutants ", "-f src/lib.rs", "mutants.out", "missed.txt")),
    ],
)
def test_a_tool_runs_on_the_changed_lines(path: str, parts: tuple[str, ...]) -> None:
    [trial] = proof("mutants").trials(work({path: OLD}, {path: NEW})).trials
    assert all(part in trial.command for part in parts), trial.command


def test_a_tool_runs_in_the_folder_of_the_checks_and_on_files_there() -> None:
    before, after = ({f"packages/{name}/a.js": text for name in ("one", "two")} for text in (OLD, NEW))
    [trial] = proof("mutants").trials(work(before, after, folder="packages/one")).trials
    assert "--mutate a.js:1-1 " in trial.command


def test_other_languages_are_left_out_and_said_so() -> None:
    planned = proof("mutants").trials(work({"a.go": OLD}, {"a.go": NEW}))
    assert (planned.trials, planned.notes) == ((), ("No mutants of go files.",))


def test_survivors_are_named_to_the_person_while_some_died() -> None:
    found = judged(f"noise\n{SURVIVOR}\nWord died 8\nWord all 9\n")
    assert (found.reason, found.words, found.proves) == ("", "8 of 9 mutants of Stryker died", True)
    assert found.notes == ("- calc.js:1: ArithmeticOperator a - b: no test noticed",)


def test_a_claim_is_refused_if_none_died() -> None:
    found = judged(f"{SURVIVOR}\nWord died 0\nWord all 1\n")
    assert found.reason == "0 of 1 mutants of Stryker died; tests must notice what the changed lines do"
    assert "calc.js:1" in found.tail
    assert found.notes == (found.tail,)


@pytest.mark.parametrize(
    ("output", "path", "note"),
    [
        ("Word absent\n", "calc.js", "by Stryker: it is not installed in the project."),
        ("Word absent\n", "src/lib.rs", "by cargo-mutants: it is not installed in the project."),
        ("an error\n", "calc.js", "by Stryker: it did not come to its end."),
        ("Other died 3\nOther all 3\n", "calc.js", "by Stryker: it did not come to its end."),
    ],
)
def test_a_tool_without_a_report_proves_nothing(output: str, path: str, note: str) -> None:
    found = judged(output, path)
    assert (found.reason, found.proves) == ("", False)
    assert note in found.notes[-1]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_report_of_stryker_is_read(tmp_path: Path) -> None:
    """A report that Stryker 9.6.1 wrote, with its command runner, without the outputs of the tests."""
    program, report = tmp_path / "node_modules/.bin/stryker", Path(__file__).with_name("stryker_report.json")
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nmkdir -p reports/mutation && cp {report} reports/mutation/mutation.json\nexit 1\n")
    program.chmod(0o755)
    [trial] = proof("mutants").trials(work({"calc.js": OLD}, {"calc.js": NEW})).trials
    ended = subprocess.run(["sh", "-c", trial.command], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    found = judged(ended.stdout)
    assert (found.reason, found.words, found.proves) == ("", "5 of 7 mutants of Stryker died", True), ended
    assert found.notes == (
        "- calc.js:2: ConditionalExpression true: no test noticed\n- calc.js:2: EqualityOperator a >= 9: no test noticed",
    )


# As cargo-mutants documents its folder and its exit codes; the lines of a mutant as it prints them.
CARGO_MUTANTS = """\
while [ "$1" != -o ]; do shift; done
mkdir -p "$2/mutants.out" && cd "$2/mutants.out" || exit 70
printf 'src/lib.rs:2:5: replace add -> i32 with 0\\nsrc/lib.rs:2:5: replace add -> i32 with 1\\n' > caught.txt
printf 'src/lib.rs:2:7: replace + with * in add\\n' > missed.txt
: > unviable.txt
printf 'src/lib.rs:9:5: replace next -> bool with true\\n' > timeout.txt
exit {code}
"""


@pytest.mark.parametrize(
    ("code", "words", "note"),
    [
        (3, "3 of 4 mutants of cargo-mutants died", "- src/lib.rs:2:7: replace + with * in add: no test noticed"),
        (2, "3 of 4 mutants of cargo-mutants died", "- src/lib.rs:2:7: replace + with * in add: no test noticed"),
        (4, "", "No mutants of its languages by cargo-mutants: it did not come to its end."),
        (70, "", "No mutants of its languages by cargo-mutants: it did not come to its end."),
    ],
)
def test_the_folder_of_cargo_mutants_is_read(tmp_path: Path, code: int, words: str, note: str) -> None:
    for name, text in {"cargo": 'exec cargo-mutants "$@"', "cargo-mutants": CARGO_MUTANTS.format(code=code)}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    [trial] = proof("mutants").trials(work({"src/lib.rs": OLD}, {"src/lib.rs": NEW})).trials
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    ended = subprocess.run(["sh", "-c", trial.command], env=environment, capture_output=True, text=True, timeout=30)
    found = judged(ended.stdout, "src/lib.rs")
    assert (found.words, found.notes[-1]) == (words, note), ended
