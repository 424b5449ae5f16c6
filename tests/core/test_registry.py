"""covers: core/plugins/registry.py, with real small packages on sys.path for what comes from outside."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from untildone import agents, modes
from untildone.core.errors import UnknownName, UsageError
from untildone.core.plugins.agent import Agent
from untildone.core.plugins.mode import Mode
from untildone.core.plugins.registry import Registry

PLUGIN = """
from untildone.modes.ralph.mode import Ralph

class Patient(Ralph):
    name = "patient"

class Nothing:
    name = "nothing"

MODE = Patient()
HALF = Nothing()
"""
POINTS = """
[untildone.modes]
patient = patient_plugin:MODE
half = patient_plugin:HALF
gone = patient_plugin:MISSING
unparsed = patient_plugin_broken:MODE
absent = no_such_module_at_all:MODE
shapeless = patient_plugin
ralph = patient_plugin:MODE
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with entry points, as an installer leaves it, on sys.path."""
    (tmp_path / "patient_plugin.py").write_text(PLUGIN)
    (tmp_path / "patient_plugin_broken.py").write_text("MODE = (\n")
    about = tmp_path / "patient_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: patient-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "patient_plugin", raising=False)
    importlib.invalidate_caches()
    return tmp_path


@pytest.fixture
def registry() -> Registry[Mode]:
    return Registry("mode", Mode)


def test_a_name_of_the_folder_is_found(registry: Registry[Mode]) -> None:
    assert registry.find("ralph") is modes.find("ralph")
    assert {"ralph", "phases"} <= set(registry.own_names()) <= set(registry.names())
    assert not any(name.startswith("_") for name in registry.names())


def test_an_entry_point_adds_a_name(plugin: Path, registry: Registry[Mode]) -> None:
    assert registry.find("patient").name == "patient"
    assert "patient" in registry.names()
    assert "patient" not in registry.own_names()


def test_a_plugin_does_not_replace_a_name_of_the_folder(plugin: Path, registry: Registry[Mode]) -> None:
    assert registry.find("ralph") is modes.find("ralph")


def test_a_module_and_a_name_in_it_are_enough(plugin: Path, registry: Registry[Mode]) -> None:
    assert registry.find("patient_plugin:MODE").name == "patient"


@pytest.mark.parametrize(
    "name", ["", "nonsense", "_texts", "__init__", "../ralph", "ralph.py", "x" * 5000, "a\0b", "ра"]
)
def test_an_unknown_name_is_refused_with_the_choices(name: str, registry: Registry[Mode]) -> None:
    with pytest.raises(UnknownName, match="There is no mode named") as raised:
        registry.find(name)
    assert "ralph" in raised.value.hint
    assert "MODULE:MODE" in raised.value.hint
    assert len(raised.value.sentence) < 200


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("half", "it is no mode: it has no absorb, "),
        ("gone", "AttributeError: module 'patient_plugin' has no attribute 'MISSING'"),
        ("unparsed", "SyntaxError: "),
        ("absent", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("shapeless", "the reference is not of the form module:NAME"),
        ("no_such_module:MODE", "ModuleNotFoundError: No module named 'no_such_module'"),
        (":", "the reference is not of the form module:NAME"),
        ("os:getcwd()", "the reference is not of the form module:NAME"),
        ("sys:exit", "it is no mode: "),
    ],
)
def test_a_broken_plugin_is_one_sentence(plugin: Path, registry: Registry[Mode], name: str, reason: str) -> None:
    with pytest.raises(UsageError) as raised:
        registry.find(name)
    assert raised.value.sentence.startswith(f"The mode '{name}' cannot be loaded from ")
    assert reason in raised.value.sentence
    assert "\n" not in raised.value.sentence
    assert raised.value.hint


def test_agents_are_found_the_same_way() -> None:
    registry: Registry[Agent] = Registry("agent", Agent)
    assert registry.find("untildone.agents.command:AGENT") is agents.find("command")
    with pytest.raises(UsageError, match="it is no agent"):
        registry.find("untildone.modes.ralph.mode:MODE")


def test_a_name_of_the_folder_needs_neither_metadata_nor_typing() -> None:
    look = "import sys; from untildone import modes; modes.find('ralph'); print(*sys.modules)"
    source = str(Path(modes.__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {source!r}); {look}"
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert loaded.returncode == 0, loaded.stderr
    assert not {"importlib.metadata", "typing", "pkgutil", "site"} & set(loaded.stdout.split())


def test_without_site_packages_plugins_are_found_all_the_same() -> None:
    """The stop hook runs with `-I -S`; the packages of its environment are added when a name is not in the folder."""
    source = str(Path(modes.__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {source!r}); from untildone import modes; modes.find('pytest:MODE')"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert "module 'pytest' has no attribute 'MODE'" in ran.stderr
