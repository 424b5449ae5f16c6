"""`untildone config`: the settings in effect, and where each comes from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from untildone import settings
from untildone.faces.cli import parameters, streams
from untildone.operations import trust
from untildone.settings import PREFIX, Settings
from untildone.settings.declared import by_any_name


@click.command()
@click.option("--schema", is_flag=True, help="The JSON Schema of the settings.")
@click.option("--accept", is_flag=True, help="Let files count that changed while a loop ran, as they are now.")
@click.option("--path", "paths", is_flag=True, help="The files that settings are read from.")
@parameters.folder
@parameters.as_json
def command(schema: bool, accept: bool, paths: bool, folder: str, as_json: bool) -> int:
    """The settings in effect in this folder, and where each comes from."""
    place, data = parameters.existing_folder(folder), streams.data()
    if accept:
        return _accept(place)
    if schema:
        from untildone.settings.schema import json_schema

        data.json(json.dumps(json_schema(), indent=None if as_json else 2))
    elif paths:
        for path in settings.files(place):
            data.record({"path": str(path), "exists": path.exists()}) if as_json else data.line(str(path))
    else:
        _show(settings.load(place, {}), origins(place), as_json=as_json)
        for notice in trust.notices(place):
            streams.talk().prose(notice)
    return 0


def _accept(place: Path) -> int:
    for change in trust.changes(place):
        trust.accept(change)
        streams.data().line(change.path)
    return 0


def origins(place: Path) -> dict[str, str]:
    """For each setting that is not the default, the file or variable that sets it. Later sources win."""
    sources: dict[str, str] = {}
    for path in settings.files(place):
        sources.update(dict.fromkeys(settings.read(path), str(path)))
    variables = {name: f"{PREFIX}{name.upper()}" for name in by_any_name()}
    sources.update({by_any_name()[name].name: each for name, each in variables.items() if each in os.environ})
    return sources


def _show(chosen: Settings, sources: dict[str, str], *, as_json: bool) -> None:
    values = settings.hidden(settings.as_json(chosen))
    for name, value in values.items():
        source = sources.get(name, "default")
        if as_json:
            streams.data().record({"setting": name, "value": value, "source": source})
        elif value is None:
            streams.data().line(f"# {name} is not set")
        else:
            streams.data().line(f"{name} = {json.dumps(value, ensure_ascii=False)}  # {source}")
