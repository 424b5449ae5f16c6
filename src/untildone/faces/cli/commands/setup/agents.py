"""`untildone agents`: which agents are installed, what they can do, and whether one works."""

from __future__ import annotations

import click

from untildone.core import limits
from untildone.core.answers import failures
from untildone.core.model import Outcome
from untildone.core.values.codec import to_json
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.parameters import Amount
from untildone.faces.text.plain import one_line
from untildone.operations.setup import agents
from untildone.operations.setup.agents import AgentInfo, Trial


@click.group(invoke_without_command=True)
@parameters.folder
@parameters.as_json
@click.pass_context
def command(ctx: click.Context, folder: str, as_json: bool) -> int:
    """The agents: where each is, its version, what it can do, and how to install what is missing."""
    if ctx.invoked_subcommand is not None:
        return 0
    for info in agents.look_at_all(parameters.existing_folder(folder)):
        if as_json:
            streams.data().record({**to_json(info), "found": info.path is not None})
        else:
            streams.data().prose(_line(info))
    return 0


def _line(info: AgentInfo) -> str:
    kind = "" if info.name == info.agent else f" (profile of {info.agent})"
    if not info.program:
        return f"{info.name}{kind}: {info.install}"
    if info.path is None:
        return f"{info.name}{kind}: missing: there is no '{info.program}' on PATH; {info.install}"
    capabilities = ", ".join(info.capabilities).replace("_", " ") or "nothing beyond answering"
    place = " ".join(word for word in (info.version, info.path) if word)
    problem = f"; {info.problem}" if info.problem else ""
    return f"{info.name}{kind}: {place}; can: {capabilities}{problem}"


@command.command("check")
@click.argument("name")
@click.option("--command", "program", metavar="WORDS", help="For the agent `command`.")
@click.option("--model", metavar="M", help="Handed to the agent as it is.")
@click.option(
    "--timeout", metavar="S", type=Amount("seconds"), default=agents.TRIAL_SECONDS, help="Seconds to wait (120)."
)
@parameters.folder
@parameters.as_json
def check(name: str, program: str | None, model: str | None, timeout: float, folder: str, as_json: bool) -> int:
    """One tiny real call: does the agent NAME answer?"""
    trial = agents.try_agent(parameters.existing_folder(folder), name, program, model, timeout)
    failure = trial.answer.failure
    if as_json:
        streams.data().record(
            {
                "agent": name,
                "ok": failure is None,
                "seconds": round(trial.seconds, 3),
                "notices": list(trial.notices),
                **to_json(trial.answer),
            }
        )
    elif failure is None:
        streams.data().prose(_success(name, trial))
    if failure is None:
        return 0
    streams.report_error(
        f"{name} does not work ({failure.kind.value.replace('_', ' ')}): {one_line(failure.message, 600)}",
        failures.hint(failure.kind, name),
    )
    return Outcome.FAILED.exit_code


def _success(name: str, trial: Trial) -> str:
    usage = trial.answer.usage
    used = [f"{trial.seconds:.1f} s", *limits.shown(usage)]
    return f"{name} works: it said “{one_line(trial.answer.text)}” ({', '.join(used)})"
