"""The example of a plugin, installed beside untildone into an environment of its own: its agent, mode and gate in one loop."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"
CHECKLIST = "- [ ] one\n- [ ] two\n- [ ] three\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that sees the packages of this one, untildone among them, and has the plugin installed."""
    place = tmp_path_factory.mktemp("environment")
    call(sys.executable, "-m", "venv", "--without-pip", place)
    (packages,) = place.glob("lib/python3*/site-packages")
    (packages / "beside.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--offline", "--python", place / "bin" / "python")
    call(Path(sys.executable).with_name("uv"), "pip", "install", *options, PLUGIN)
    return place


@pytest.fixture
def cli(tmp_path: Path, environment: Path) -> CommandLine:
    made = CommandLine(tmp_path)
    made.environment["PATH"] = f"{environment / 'bin'}{os.pathsep}{made.environment['PATH']}"
    (made.workspace / "checklist.md").write_text(CHECKLIST)
    return made


def call(*command: str | Path) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def run(cli: CommandLine, environment: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = (
        str(environment / "bin" / "python"),
        "-P",
        "-m",
        "untildone",
        "run",
        "Work through the checklist",
        *flags,
    )
    return subprocess.run(
        command,
        cwd=cli.workspace,
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=90,
        stdin=subprocess.DEVNULL,
    )


PLUGINS = ("--agent", "ticker", "--mode", "one-step", "--gate", "forbidden-word=draft")


def test_its_agent_mode_and_gate_verify_a_loop(cli: CommandLine, environment: Path) -> None:
    ended = run(cli, environment, *PLUGINS)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith(" verified\n")
    assert "mode one-step, agent ticker" in ended.stderr
    assert ended.stderr.count("▸ ticker tick ") == 3
    assert (cli.workspace / "checklist.md").read_text() == CHECKLIST.replace("[ ]", "[x]")


def test_its_gate_does_not_believe_the_claim(cli: CommandLine, environment: Path) -> None:
    (cli.workspace / "report.md").write_text("A draft.\n")
    ended = run(cli, environment, *PLUGINS, "--max-iterations", "4")
    assert ended.returncode in (3, 4), ended.stdout + ended.stderr
    assert "the word 'draft' was found" in ended.stderr


def test_without_the_plugin_its_names_are_unknown(cli: CommandLine) -> None:
    ended = cli.run("run", "A job", "--agent", "ticker")
    assert ended.code == 2
    assert "'ticker'" in ended.errors
