"""The programs that were tried over the Agent Client Protocol: how each is started, and what its reports mean.

The protocol leaves open what usage counts, which sessions can be opened again, and how a program is kept from writing."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from untildone.core.errors import UsageError
from untildone.core.model import Permissions
from untildone.core.values.value import dataclass, field

PREFIX = "acp:"
EDIT_ONLY, READ_ONLY = '{"bash":"deny"}', '{"*":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow"}'


class Counts(StrEnum):
    """What the tokens in the answer to a prompt count."""

    TURN = "turn"
    """The turn."""
    PROCESS = "process"
    """The process since its start, which may have served earlier turns."""
    QUOTA = "quota"
    """The turn, in a field of the program's own."""
    CHUNKS = "chunks"
    """Each request to the model, in a field of the program's own beside its text."""
    UNKNOWN = "unknown"
    """The program reports nothing, or only the last request of the turn, or its reports have not been tried."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that speaks the protocol."""

    words: tuple[str, ...]
    install: str
    native: str = ""
    """The agent whose adapter drives the same program, one that is bundled with it, or the one that it is a fork of; empty: none."""
    home: str = ""
    """Its own folder in the home folder, if no adapter knows it."""
    steering: tuple[str, ...] = ()
    """Files of that folder that steer the program."""
    hosts: tuple[str, ...] = ()
    own_variables: tuple[str, ...] = ()
    """Environment variables for this program alone, as in `Needs`, if no adapter knows it."""
    counts: Counts = Counts.UNKNOWN
    totals_cost: bool = False
    """Whether it reports the dollars of the session so far."""
    resumes: bool = True
    """Whether a later process can open the session again."""
    forks: bool = False
    read_only: bool = False
    """Whether `flags` and `variables` keep it from writing."""
    marks_messages: bool = False
    """Whether every message of the model has an id, so that text without one is a note of the program."""
    model_flag: bool = False
    """Whether it takes `--model=M`; else the model is chosen by the protocol."""
    flags: Mapping[Permissions, tuple[str, ...]] = field(default_factory=dict)
    variables: Mapping[Permissions, Mapping[str, str]] = field(default_factory=dict)
    reviewer_flags: tuple[str, ...] = ()
    """More flags for a run that judges the work of another agent: nothing in the workspace may steer it."""
    modes: Mapping[Permissions, str] = field(default_factory=dict)
    """The mode of the session to choose, if the program offers it."""


def _opencode(program: str, install: str, variable: str) -> Program:
    """opencode, or a fork of it, which reads its permissions from a variable."""
    return Program(
        (program, "acp"),
        install,
        native="opencode",
        totals_cost=True,
        forks=True,
        read_only=True,
        reviewer_flags=("--pure",),
        variables={Permissions.EDIT: {variable: EDIT_ONLY}, Permissions.READ: {variable: READ_ONLY}},
    )


KNOWN: Mapping[str, Program] = {
    "claude": Program(
        ("claude-agent-acp",),
        "npm install -g @agentclientprotocol/claude-agent-acp@latest",
        native="claude",
        counts=Counts.TURN,
        totals_cost=True,
        forks=True,
    ),
    "codex": Program(
        ("codex-acp",),
        "npm install -g @agentclientprotocol/codex-acp@latest",
        native="codex",
        counts=Counts.TURN,
        forks=True,
        marks_messages=True,
        read_only=True,
        modes={
            Permissions.WORK: "agent-full-access",
            Permissions.EDIT: "workspace-write",
            Permissions.READ: "read-only",
        },
    ),
    "copilot": Program(
        ("copilot", "--acp", "--no-auto-update"),
        "npm install -g @github/copilot@latest",
        native="copilot",
        counts=Counts.PROCESS,
        read_only=True,
        model_flag=True,
        flags={
            Permissions.EDIT: ("--deny-tool=shell",),
            Permissions.READ: ("--deny-tool=write", "--deny-tool=shell", "--disable-builtin-mcps"),
        },
        variables={Permissions.EDIT: {"COPILOT_ALLOW_ALL": ""}, Permissions.READ: {"COPILOT_ALLOW_ALL": ""}},
        reviewer_flags=("--no-custom-instructions",),
    ),
    "gemini": Program(
        ("gemini", "--acp"),
        "npm install -g @google/gemini-cli@latest",
        native="gemini",
        counts=Counts.QUOTA,
        # It would fail, and overwrite the session with an empty one.
        resumes=False,
        read_only=True,
        model_flag=True,
        modes={Permissions.READ: "plan"},
    ),
    "kilo": _opencode("kilo", "npm install -g @kilocode/cli@latest", "KILO_PERMISSION"),
    "opencode": _opencode("opencode", "npm install -g opencode-ai@latest", "OPENCODE_PERMISSION"),
    "qwen": Program(
        ("qwen", "--acp"),
        "npm install -g @qwen-code/qwen-code@latest",
        home=".qwen",
        steering=("settings.json", "QWEN.md", ".env"),
        hosts=("chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
        own_variables=("QWEN_*", "QWEN_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
        counts=Counts.CHUNKS,
        model_flag=True,
        # Its own choice asks the model about each tool call whether it is safe, and counts none of these requests.
        modes={Permissions.WORK: "yolo", Permissions.EDIT: "auto-edit", Permissions.READ: "plan"},
    ),
}
"""By the name after `acp:`."""


@lru_cache(maxsize=64)
def program(rest: str) -> Program:
    """The program that `acp:REST` names: a known one, or a command line."""
    return KNOWN.get(rest) or Program(split(rest), "install it, or put its folder on PATH")


def split(command: str) -> tuple[str, ...]:
    """The words of a command line. UsageError if there are none."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as reason:
        sentence = f"The command {command!r} cannot be split into words: {reason}."
        raise UsageError(sentence, "close every quote in it") from None
    if not words or not words[0]:
        known = ", ".join(f"{PREFIX}{name}" for name in KNOWN)
        raise UsageError("The agent 'acp' needs a program to run.", f'name it: one of {known}, or "acp:PROGRAM ARGS"')
    return words
