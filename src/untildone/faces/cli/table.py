"""The table of commands. The module of a command is imported only when it runs. A new command is one more line here."""

from __future__ import annotations

import importlib
from typing import Any

import click

from untildone.core.values.value import dataclass

COMMANDS_PACKAGE = "untildone.faces.cli.commands"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the code of a command is (`module:attribute`), and its line in the list of commands."""

    where: str
    line: str
    hidden: bool = False


COMMANDS = {
    "run": Place("runs.run:command", "Keep an agent at work on a task until it is verified done."),
    "list": Place("records.list:command", "The loops of this folder, newest first."),
    "show": Place("records.show:command", "One loop: where it stands, what it used, what its gates say."),
    "log": Place("records.log:command", "What happened in a loop, or what its agent printed."),
    "watch": Place("records.watch:command", "The live view of a running loop, from another terminal."),
    "pause": Place("controls.control:pause", "Pause a loop after its round, or now."),
    "resume": Place("runs.resume:command", "Go on with a loop in this terminal."),
    "stop": Place("controls.control:stop", "End a loop for good after its round, or now."),
    "retry": Place("runs.retry:command", "Go on with a loop that failed or was stopped."),
    "duplicate": Place("runs.duplicate:command", "A new loop with the task and settings of another one."),
    "rewind": Place("runs.rewind:command", "Take a loop back to where it was after a round."),
    "bisect": Place("records.bisect:command", "Which round of a loop broke its checks."),
    "say": Place("controls.say:command", "Send a message to a loop; [r+5] at the start adds rounds."),
    "budget": Place("controls.budget:command", "Change what a loop may use, while it runs or rests."),
    "delete": Place("controls.delete:command", "Delete ended loops: journal, output and receipt."),
    "clean": Place("controls.clean:command", "Delete loops that ended long ago."),
    "tasks": Place("controls.tasks:command", "The subtasks of a loop: list, add, change, order, delete."),
    "approve": Place("controls.approve:command", "Accept changes of tests or programs that a gate refused."),
    "group": Place("controls.group:command", "What all loops of a group may use together."),
    "tree": Place("records.tree:command", "A loop and the loops that its agent started."),
    "child": Place("runs.child:command", "For an agent inside a loop: loops of its own."),
    "wait": Place("records.wait:command", "Wait until a loop rests, and exit as it did."),
    "verify": Place("records.verify:command", "Run the gates of an ended loop again, and compare."),
    "diff": Place("records.diff:command", "What a loop changed in its workspace."),
    "sandbox": Place("setup.sandbox:command", "Run a command in the box in which agents run."),
    "agents": Place("setup.agents:command", "The agents: which are installed, and what they can do."),
    "config": Place("setup.config:command", "The settings in effect, and where each comes from."),
    "init": Place("setup.init:command", "Write an untildone.toml with what was found in this folder."),
    "doctor": Place(
        "setup.doctor:command", "Check that this machine has what untildone needs; say how to fix the rest."
    ),
    "supervisor": Place("setup.supervisor:command", "`supervisor init` writes a starter SUPERVISOR.md."),
    "demo": Place("runs.demo:command", "Watch a loop catch an agent that lies."),
    "wrap": Place("sessions.wrap:command", "Your agent at its own terminal, with a supervisor at every stop."),
    "hook": Place("sessions.hook:command", "The loop inside your own agent session."),
    "serve": Place("servers.serve:command", "Many loops behind an API and a dashboard."),
    "token": Place("servers.token:command", "Named tokens for a server: add, list, revoke."),
    "mcp": Place("servers.mcp:command", "Loops as tools for other agents and editors (MCP)."),
    "acp": Place("servers.acp:command", "An agent for editors that does not stop before it is verified (ACP)."),
    "robot-docs": Place("setup.robot_docs:command", "A page for agents: when and how to hand a job over."),
    "worker": Place("servers.worker:command", "Drive loops of a cluster on this machine."),
    "completion": Place("setup.completion:command", "Print the completion script of a shell."),
    "_wrapped": Place("sessions.wrap:begin", "Begin a loop in a wrapped session; its hook starts this.", hidden=True),
    "_tell": Place(
        "sessions.tell:command", "Send the notifications of a loop; the stop hook starts this.", hidden=True
    ),
    "_drive": Place("runs.background:command", "Drive a loop; --detach starts this.", hidden=True),
}


class LazyGroup(click.Group):
    """A group that lists its commands from the table and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, place in COMMANDS.items() if not place.hidden]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.where.partition(":")
        command: click.Command = getattr(importlib.import_module(f"{COMMANDS_PACKAGE}.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].line) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        fitting = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=COMMANDS[name].line) for name in fitting]
        return commands + click.Command.shell_complete(self, ctx, incomplete)


def _version(ctx: click.Context, _parameter: click.Parameter, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"untildone {version('untildone')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="`untildone COMMAND --help` says more. LOOP is an id, a unique part of one, or `last`.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def program() -> None:
    """Your coding agent says that it is done. untildone makes sure."""
