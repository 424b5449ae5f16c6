"""`untildone run`: a new loop, driven here until it rests, or in the background."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untildone.core.errors import UsageError
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.setting_flags import flags_of_plugin, given, setting_flags
from untildone.settings.setting import Command

if TYPE_CHECKING:
    from untildone.settings import Settings

EXTRA = "untildone.extra_arguments"
LONGEST_TASK = 10_000_000


class RunCommand(click.Command):
    """Keeps the arguments after `--` for the agent, and takes the flags of the mode that the arguments choose."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, extra = args, []
        if "--" in args:
            place = args.index("--")
            own, extra = args[:place], args[place + 1 :]
        ctx.meta[EXTRA] = tuple(extra)
        self.params += flags_of_plugin(Command.RUN, own)
        return super().parse_args(ctx, own)


@click.command(cls=RunCommand, short_help="Keep an agent at work on a task.", no_args_is_help=True)
@click.argument("task", metavar="TASK | --file F | -", nargs=-1)
@click.option("--file", "task_file", metavar="F", help="Read the task from a file.")
@setting_flags(Command.RUN)
@parameters.place
@click.option("--detach", is_flag=True, help="Start in the background and print the id.")
@click.option("--cluster", "in_cluster", is_flag=True, help="Run the loop on a cluster of machines; needs --store.")
@click.option(
    "--accept-settings",
    is_flag=True,
    help="Let settings files count that changed while a loop ran; else you are asked.",
)
@click.option("--plain", is_flag=True, help="Plain lines even at a terminal.")
@parameters.as_json
@click.pass_context
def command(
    ctx: click.Context,
    /,
    task: Sequence[str],
    task_file: str | None,
    folder: str,
    detach: bool,
    in_cluster: bool,
    accept_settings: bool,
    plain: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Keep an agent at work on a task, round after round, until it is verified done.

    TASK is in your words, in a file (--file), or on standard input (-). What follows -- goes to the agent as it is.
    """
    words = _task(task, task_file)
    place = parameters.existing_folder(folder)
    extra = ctx.meta[EXTRA]
    settings_flags = {**given(flags), **({"args": extra} if extra else {})}
    if settings_flags.get("loop_enabled") is False and settings_flags.get("max_iterations", 1) != 1:
        raise UsageError("--once is one round, and -r asks for more.", "give one of them")
    from untildone.faces.cli.views.changed_settings import resolve

    resolve(place, parameters.environment(), accept=accept_settings, asking=not (detach or as_json))
    if in_cluster:
        from untildone.faces.cli.cluster_runs import begin

        return begin(words, place, settings_flags, detach=detach, plain=plain, as_json=as_json)
    return _start(words, place, settings_flags, detach=detach, plain=plain, as_json=as_json)


def _task(words: Sequence[str], file: str | None) -> str:
    if words and file is not None:
        raise UsageError("There are two tasks: one in words and one in a file.", "give one of them")
    if file is not None:
        return _decoded(_content(file), f"The file {streams.printable(file)}")
    if list(words) == ["-"]:
        return _decoded(sys.stdin.buffer.read() if sys.stdin else b"", "Standard input")
    if not words:
        raise UsageError("There is no task.", 'say what is to be done: untildone run "make the tests pass"')
    return _sound(" ".join(words), "The task")


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(LONGEST_TASK + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise UsageError(
            f"Cannot read the task from {streams.printable(file)}: {reason}.", "give a readable file with --file"
        ) from None


def _decoded(content: bytes, what: str) -> str:
    try:
        return _sound(content.decode("utf-8-sig"), what)
    except UnicodeDecodeError as problem:
        raise UsageError(f"{what} is not UTF-8 text (byte {problem.start + 1}).", "save it as UTF-8") from None


def _sound(task: str, what: str) -> str:
    if not task.strip():
        raise UsageError(f"{what} is empty.", "say what is to be done")
    if "\0" in task:
        raise UsageError(f"{what} has a NUL character.", "remove it: agents take text")
    if len(task) > LONGEST_TASK:
        raise UsageError(
            f"{what} is longer than {LONGEST_TASK:,} characters.", "put the details into files that it names"
        )
    return task.encode("utf-8", "replace").decode()


def _start(task: str, place: Path, flags: dict[str, Any], *, detach: bool, plain: bool, as_json: bool) -> int:
    from untildone import settings
    from untildone.faces.cli.driver import Show, create_loop, driver
    from untildone.faces.cli.loop_menus import drive_on
    from untildone.faces.cli.views import suggested_checks

    chosen = for_terminal(settings.load(place, flags, parameters.environment()), asking=not (detach or as_json))
    chosen = suggested_checks.resolve(chosen, place, asking=not (detach or as_json))
    store = parameters.open_store(place, create=True)
    if detach:
        from untildone.faces.cli.commands.runs.background import detached

        return detached(store, create_loop(store, task, chosen, place).loop_id, as_json=as_json)
    with driver(store, chosen, Show(as_json=as_json, plain=plain)) as drives:
        loop = create_loop(store, task, chosen, place)
        drives.watch(loop.loop_id, from_start=True)
        drives.introduce(loop)
        return drive_on(drives, store, loop)


def for_terminal(chosen: Settings, *, asking: bool) -> Settings:
    """The settings of a mode that works with the person at a terminal: no limit of rounds, and a question when it is done."""
    from untildone.operations import output

    if not output.mode(chosen.mode).works_with_person or not asking or not (sys.stdin and sys.stdin.isatty()):
        return chosen
    from untildone.core.values.value import replace

    usual: dict[str, Any] = {"max_iterations": "none", "interactive": True}
    return replace(chosen, **{name: value for name, value in usual.items() if name not in chosen.explicit})
