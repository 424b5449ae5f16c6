"""One small real call of an agent, to test whether it works on this machine. It runs like a turn, but without a loop."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from untildone import agents
from untildone.core.model import AgentChoice, Answer, Failure, FailureKind, Permissions
from untildone.core.plugins.agent_io import Conversation, Notice, Request
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import replace
from untildone.engine.agent import programs
from untildone.system.guard import guarded
from untildone.system.program import process
from untildone.system.program.spawn import Cause, Spawn

PROMPT = "Say OK."
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial call."""

    answer: Answer
    seconds: float
    notices: tuple[str, ...]


def try_agent(choice: AgentChoice, environment: Mapping[str, str], timeout: float = PATIENCE) -> Trial:
    """Ask the agent to say OK, in an empty folder, read-only. Raises AgentMissing if it cannot be started."""
    agent = agents.of(choice)
    request = Request(
        prompt=PROMPT,
        fresh_id=str(uuid.uuid4()),
        model=choice.model,
        args=choice.args,
        permissions=Permissions.READ,
        command=choice.command,
    )
    request, notices = programs.with_version(agent, request, environment), list[str]()
    with tempfile.TemporaryDirectory(prefix="untildone-trial-") as folder, guarded("trial") as watched:
        request = replace(request, folder=folder)
        invocation, reader = agent.invocation(request).reporting_to(None), agent.reader(request)

        def take(line: bytes) -> None:
            notices.extend(event.text for event in reader.feed(line) if isinstance(event, Notice))

        spawn = Spawn(
            argv=invocation.argv,
            env={**environment, **invocation.env, **watched.mark},
            cwd=folder,
            stdin=invocation.stdin,
            conversation=reader if isinstance(reader, Conversation) else None,
            timeout=timeout,
            redactor=Redactor.from_environment(environment),
        )
        ended = process.run(spawn, take, lambda: False)
    answer = reader.finish(ended.exit_code, ended.stderr_tail, time.time())
    if ended.cause is Cause.TIMED_OUT:
        answer = Answer(failure=Failure(FailureKind.TIMEOUT, f"no answer within {timeout:g} s"))
    elif answer.failure is not None:
        answer = replace(answer, failure=programs.explained(agent, request, answer.failure, environment))
    return Trial(answer, ended.seconds, tuple(notices))
