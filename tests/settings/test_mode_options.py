"""An option that a mode declares becomes a setting, a variable, flags, a form field and a part of the schema.

Covers: settings/declared.py (options of modes), faces/cli/setting_flags.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from untildone import modes, settings
from untildone.faces.web.forms.fields import Kind, fields
from untildone.settings.declared import flag_names
from untildone.settings.schema import json_schema
from untildone.settings.setting import Command

PLUGIN = """
from untildone.core.plugins.option import Option, Shortcut
from untildone.modes.ralph.mode import Ralph

class Careful(Ralph):
    name = "careful"
    declared_options = (
        Option("depth", title="Depth", help="how deep", default="flat", choices=("flat", "deep"),
               shortcuts=(Shortcut("dive", "deep"),)),
        Option("looks", title="Looks", help="how often it looks", default=2, lowest=1, highest=9),
    )

MODE = Careful()
"""
TRIAL = """
import json, sys
from pathlib import Path
from untildone import settings
from untildone.faces.cli.setting_flags import flags_of_plugin
from untildone.settings.schema import json_schema
from untildone.settings.setting import Command

chosen = settings.load(Path("."), {"mode": "careful", "looks": 3}, {"UNTILDONE_DEPTH": "deep", "HOME": "/nowhere"})
flags = flags_of_plugin(Command.RUN, ["--mode", "careful", "a task"])
print(json.dumps([dict(chosen.options), sorted(name for flag in flags for name in flag.opts), json_schema()["properties"]["looks"]]))
"""


@pytest.mark.parametrize(("mode", "option"), modes.options(modes.own_names()))
def test_options_of_the_modes_in_the_folder(mode: str, option: Any) -> None:
    declared = settings.every()[option.name]
    assert json_schema()["properties"][option.name]["default"] == option.default
    assert fields({option.name: declared}, {})[0].only_with == f"mode={mode}"
    assert (f"--{option.name}" in flag_names(Command.HOOK)) == option.has_flag


def test_the_kind_of_a_field_comes_from_the_option() -> None:
    kinds = {each.name: each.kind for each in fields(settings.every(), {})}
    assert (kinds["route"], kinds["review_threshold"]) == (Kind.CHOICE, Kind.WHOLE)


def test_options_of_a_plugin(tmp_path: Path) -> None:
    """In a process of its own: plugins are found once in a process."""
    (tmp_path / "careful_mode.py").write_text(PLUGIN)
    metadata = tmp_path / "careful-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: careful\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[untildone.modes]\ncareful = careful_mode:MODE\n")
    ended = subprocess.run(
        [sys.executable, "-c", TRIAL],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    options, flags, schema = json.loads(ended.stdout)
    assert (options["depth"], options["looks"]) == ("deep", 3)
    assert flags == ["--depth", "--dive", "--looks"]
    assert (schema["minimum"], schema["maximum"], schema["default"]) == (1, 9, 2)
