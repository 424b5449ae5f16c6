"""What holds for the project as a whole: its version, its words, its rooms, its scripts and its rules for tests."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "untildone"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# A class of one letter in each, so that this file does not hold the words that it looks for.
FORBIDDEN = {
    "a registry host": re.compile(r"pyp[i]\.org|registry[.]npmjs|deb[.]debian"),
    "a path of one machine": re.compile(r"(?<![\w.})$~*-])/[w]ork/"),
    "unfinished business": re.compile(r"\b(T[O]DO|F[I]XME)\b"),
}
OF_OTHER_PYTHONS = {"_sha2", "_sha256"}
"""Modules of the standard library that not every supported Python has."""
PURE_ROOMS = ("core", "modes", "agents", "gates")


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def tracked_files() -> list[Path]:
    """The files of the project: what git knows, and what it would take on."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    assert listed.returncode == 0, listed.stderr
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def source_files(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms or (".",) for path in (SOURCE / room).rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), filename=str(path))


def imported_modules(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Import(names=names):
                found |= {name.name for name in names}
            case ast.ImportFrom(module=str(module)):
                found.add(module)
    return found


def test_installed_version_is_the_one_in_pyproject() -> None:
    assert importlib.metadata.version("untildone") == PYPROJECT["project"]["version"]


def test_every_module_says_what_lives_there() -> None:
    assert source_files()
    silent = [str(path.relative_to(ROOT)) for path in source_files() if not ast.get_docstring(parsed(path))]
    assert silent == []


@pytest.mark.parametrize("what", FORBIDDEN)
def test_tree_is_free_of(what: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if FORBIDDEN[what].search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("cd @main", True), ("'@x'", True), ("{home}@x", False), ("/home/me@x", False)],
)
def test_machine_paths_are_told_from_others(text: str, is_found: bool) -> None:
    assert bool(FORBIDDEN["a path of one machine"].search(text.replace("@", "/{}/".format("work")))) is is_found


def test_changelog_has_a_place_for_the_next_release() -> None:
    assert re.search(r"^## \[Unreleased\]$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_importing_the_package_imports_nothing_else() -> None:
    """The stop hook starts with every stop of an agent and pays for whatever is here."""
    code = "import sys; before = set(sys.modules); import untildone; print(*sorted(set(sys.modules) - before))"
    imported = run(sys.executable, "-c", code)
    assert imported.stdout.split() == ["untildone"], imported.stderr


def test_rooms_are_held_by_contracts() -> None:
    contracts = {contract["id"]: contract for contract in PYPROJECT["tool"]["importlinter"]["contracts"]}
    assert contracts["layers"]["exhaustive"]
    assert contracts["layers"]["layers"][-3:] == ["agents | modes", "gates", "core"]
    assert contracts["pure"]["source_modules"] == [f"untildone.{room}" for room in PURE_ROOMS]


def test_pure_rooms_import_only_the_standard_library() -> None:
    foreign = {
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in source_files(*PURE_ROOMS)
        for module in imported_modules(path)
        if module.split(".")[0] not in sys.stdlib_module_names | {"untildone"} | OF_OTHER_PYTHONS
    }
    assert foreign == set()


def test_every_dependency_is_pinned() -> None:
    def name_of(requirement: str) -> str:
        return re.split(r"[\[=<>~!; ]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")

    project = PYPROJECT["project"]
    wanted = {name_of(r) for r in sum(project["optional-dependencies"].values(), project["dependencies"])}
    pinned = {name_of(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert wanted - pinned == set()


def test_agents_can_be_listed_without_installing_any(tmp_path: Path) -> None:
    listed = run(ROOT / "scripts" / "install-agents", "--list", UNTILDONE_AGENTS_DIR=str(tmp_path / "agents"))
    names = [Path(line).parent.parent.name.rsplit("-", 1)[0] for line in listed.stdout.splitlines()]
    assert names == ["claude", "codex", "gemini", "copilot", "opencode", "codex-acp"]
    assert not (tmp_path / "agents").exists()


LEFT_OUT = {
    "skipped": "import pytest\ndef test_it(): pytest.skip('no means')\n",
    "skipped_by_mark": "import pytest\n@pytest.mark.skip(reason='no means')\ndef test_it(): pass\n",
    "skipped_module": "import pytest\npytest.importorskip('no_such_module')\ndef test_it(): pass\n",
    "expected_failure": "import pytest\n@pytest.mark.xfail(reason='no means')\ndef test_it(): assert False\n",
    "unexpected_success": "import pytest\n@pytest.mark.xfail(reason='no means')\ndef test_it(): pass\n",
}


@pytest.mark.parametrize(("ci", "exit_code", "failures"), [("true", 1, set(LEFT_OUT)), ("", 0, set())])
def test_ci_fails_on_a_test_that_was_left_out(tmp_path: Path, ci: str, exit_code: int, failures: set[str]) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for case, code in LEFT_OUT.items():
        (tmp_path / f"test_{case}.py").write_text(code)
    options = ("-q", "-n", "1", "-p", "no:cacheprovider", "--continue-on-collection-errors")
    ended = run(sys.executable, "-m", "pytest", *options, cwd=tmp_path, CI=ci, PYTHONPATH=str(ROOT))
    assert ended.returncode == exit_code, ended.stdout
    assert set(re.findall(r"test_(\w+)\.py\S* was left out", ended.stdout)) == failures


def test_a_run_ends_with_what_was_left_out_and_how_to_bring_it(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    reasons = ("there is no Chromium on this machine", "Postgres is not installed; Debian has it", "a thing of Linux")
    tests = (f"def test_{n}(): pytest.skip({reason!r})\n" for n, reason in enumerate((*reasons, reasons[0])))
    (tmp_path / "test_some.py").write_text("import pytest\n" + "".join(tests))
    ended = run(sys.executable, "-m", "pytest", "-q", "-n", "1", cwd=tmp_path, CI="", PYTHONPATH=str(ROOT))
    assert ended.returncode == 0, ended.stdout
    assert "2 tests: there is no Chromium on this machine\n1 test: " in ended.stdout
    assert "To run them too: apt-get install chromium postgresql\n" in ended.stdout


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are a thing of Linux")


@needs_linux
def test_namespace_has_only_loopback_and_passes_the_exit_code_on() -> None:
    ended = run(ROOT / "scripts" / "in-netns", "sh", "-c", "ip -brief link; exit 7")
    assert ended.returncode == 7, ended.stderr
    assert [line.split()[0] for line in ended.stdout.splitlines()] == ["lo"]


@needs_linux
def test_namespace_passes_signals_on() -> None:
    command = [str(ROOT / "scripts" / "in-netns"), "sh", "-c", "echo ready; exec sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == -signal.SIGTERM
