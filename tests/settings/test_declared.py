"""One declaration gives file key, variable, flags, form field and schema. Covers: settings/declared.py, setting.py."""

from __future__ import annotations

import subprocess
import sys

from untildone import settings
from untildone.faces.cli.commands.runs import run
from untildone.faces.cli.commands.sessions import hook, wrap
from untildone.hosts.hook.prompts import SlashCommand, parse
from untildone.settings.declared import flag_names
from untildone.settings.schema import json_schema
from untildone.settings.setting import Command


def spelled(params: list[object]) -> set[str]:
    return {name for each in params for name in (*getattr(each, "opts", ()), *getattr(each, "secondary_opts", ()))}


def test_every_declared_flag_is_an_option_of_its_command() -> None:
    for command, made in ((Command.RUN, run.command), (Command.HOOK, hook.start), (Command.WRAP, wrap.command)):
        assert flag_names(command) <= spelled([*made.params])


def test_every_declared_flag_of_the_hook_ends_the_task_of_a_prompt() -> None:
    for flag in flag_names(Command.HOOK):
        assert parse(f"/until-done mend it {flag}=1") == SlashCommand("start", "mend it", (f"{flag}=1",))
    assert parse("/until-done mend it --max-cost 5") == SlashCommand("start", "mend it --max-cost 5")


def test_the_schema_has_title_description_and_default_of_every_setting() -> None:
    properties = json_schema()["properties"]
    assert [*properties] == [*settings.every()]
    for name, each in settings.every().items():
        assert properties[name].get("title", each.title) == each.title
        assert properties[name]["description"] == each.help
        assert "default" in properties[name]


def test_declarations_load_the_standard_library_only() -> None:
    """The command line shows help, and the stop hook reads a prompt, without pydantic, click or tomlkit."""
    code = "import sys, untildone.settings; print([m for m in ('pydantic', 'click', 'tomlkit', 'tomllib') if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.strip() == "[]"
