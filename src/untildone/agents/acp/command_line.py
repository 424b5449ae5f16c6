"""The command line of a program that speaks the Agent Client Protocol. Its prompt goes through the conversation."""

from __future__ import annotations

from untildone.agents.acp.known import Program
from untildone.core.model import EMPTY, Permissions
from untildone.core.plugins.agent_io import Invocation, Request


def invocation(program: Program, request: Request) -> Invocation:
    """The command line of one turn. A reviewer gets no arguments of the person: they may permit more than reading."""
    permissions = Permissions.READ if request.reviews else request.permissions
    argv = (
        *program.words,
        *program.flags.get(permissions, ()),
        *((f"--model={request.model}",) if request.model and program.model_flag else ()),
        *(program.reviewer_flags if request.reviews else request.args),
    )
    return Invocation(argv, program.variables.get(permissions, EMPTY))
