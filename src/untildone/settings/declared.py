"""Every setting, declared once and in the order in which people see them.

Files, environment, flags, the JSON Schema, the forms of the dashboard and the sentences about bad values all come from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from untildone import agents
from untildone.core.limits import Limit
from untildone.core.model import EMPTY, Context, Permissions, RoomKind, TestsRule
from untildone.core.protection.sandbox import Sandbox, SandboxNet
from untildone.core.values.value import dataclass, replace
from untildone.settings.setting import (
    Command,
    Flag,
    FormField,
    Group,
    Setting,
    Shape,
    Shortcut,
    declares,
    setting,
)

if TYPE_CHECKING:
    from untildone.core.plugins.option import Option

RUN, HOOK, WRAP, IN_SANDBOX = Command
RUN_AND_HOOK = (RUN, HOOK)
RUN_AND_WRAP = (RUN, WRAP)
EVERYWHERE = (RUN, HOOK, WRAP)

AGENT = Group("Agent")
LOOP = Group("Loop Settings", icon="sync")
GATES = Group("Gates")
BUDGET = Group("Budget")
OTHER_AGENTS = Group("Other agents", in_new_loop="folded")
SANDBOX = Group("Sandbox", in_new_loop="folded")
WORKSPACE = Group("Workspace", in_new_loop="folded")
NOTIFICATIONS = Group("Notifications", in_new_loop="absent")
CLUSTER = Group("Cluster", in_new_loop="absent")
PROFILES = Group("Profiles", in_new_loop="absent")

WITH_LOOP = "loop_enabled"
PROMISE_FORM = FormField(
    help="Exact string that signals task completion. Leave empty to rely only on max iterations.",
    placeholder="e.g., <promise>COMPLETE</promise>",
    only_with=WITH_LOOP,
)
ROUNDS_FORM = FormField(help="Safety limit to prevent infinite loops", only_with=WITH_LOOP)


def _proves_something(check: str) -> str:
    """The check; ValueError if it can prove nothing: an empty command passes in every shell, and a silent test run fails as one
    that ran no test."""
    if all(line.strip().strip("\\")[:1] in ("", "#") for line in check.split("\n")):
        raise ValueError(f"the check {check[:60]!r} runs nothing, so it would prove nothing")
    from untildone.gates.check.named import silencing_option

    if option := silencing_option(check):
        raise ValueError(f"the check {check[:60]!r} does not show whether tests ran: leave out {option}")
    return check


def filled_text(path: str) -> str:
    """The path; ValueError if it is empty."""
    if not path.strip():
        raise ValueError("a path must not be empty")
    return path


def host_name(host: str) -> str:
    """The name of a host, perhaps with a port, or `*.` and a domain; ValueError if it is none."""
    from untildone.core.protection import hosts

    hosts.parse(host)
    return host


def variable_name(name: str) -> str:
    """The name of a variable, or its beginning and `*`; ValueError if it is none."""
    if name != "*" and not name.removesuffix("*").replace("_", "a").isalnum():
        raise ValueError(f"{name[:60]!r} is not a name of a variable: give NAME, NAME_* or *")
    return name


NOTICES = ("blocked", "rest", "limit", "lifted", "budget", "tampering")
"""The kinds of `core.notices`, which is not imported here: every command reads the declarations."""


def apprise_address(address: str) -> str:
    """The address; ValueError if it is none. The sentence does not repeat it: it may hold a password."""
    scheme, mark, rest = address.partition("://")
    if not mark or not rest.strip() or not scheme.replace("+", "").replace("-", "").isalnum():
        raise ValueError("this is not an address of apprise, such as ntfy://topic")
    return address


def notice_kind(kind: str) -> str:
    """The kind of notification; ValueError if there is none of this name."""
    if kind not in NOTICES:
        raise ValueError(f"{kind[:60]!r} is none of {', '.join(NOTICES)}")
    return kind


def notice_template(kind: str, template: str) -> str:
    """The template; ValueError if there is no such kind of notification, or no such name as it contains in braces."""
    from untildone.core.notices import template_problem

    if problem := template_problem(template):
        raise ValueError(f"the template for {notice_kind(kind)} contains {problem}")
    notice_kind(kind)
    return template


def price_row(model: str, price: str) -> str:
    """The price of a model, or the date of the prices; ValueError if it is none."""
    from untildone.core.prices import parsed

    if model != "date":
        parsed(price)
    return price


def _limit(limit: Limit, title: str, help: str, *commands: Command, **more: Any) -> Any:
    """The setting of a limit: unit, bounds, flags and their help are in the table of limits."""
    row, other_help = limit.row, more.pop("other_help", None)
    bounds = {"lowest": 1} if row.unlimited else {"above": 0}
    flag = Flag(row.help, row.metavar, row.flags, commands, other_help)
    about = {"unit": row.unit, "whole": row.whole, "unlimited": row.unlimited, "highest": row.most, **bounds}
    return setting(None, title, help, **{"group": BUDGET, "flag": flag, **about, **more})


PROFILE_SETTINGS: dict[str, Setting] = {}
"""The settings of an agent profile, by name."""
SETTINGS: dict[str, Setting] = {}
"""The settings of a loop, by name."""


@dataclass(frozen=True, slots=True)
@declares(PROFILE_SETTINGS)
class AgentProfile:
    """A name of yours for an agent with its model, arguments and environment."""

    agent: str = setting("", "Agent", "The agent program: {agents}")
    model: str | None = setting(None, "Model", "Handed to the agent as it is")
    args: tuple[str, ...] = setting((), "Arguments", "More arguments for the agent, as they are")
    env: Mapping[str, str] = setting(EMPTY, "Environment", "Variables that the agent runs with")
    command: str | None = setting(
        None,
        "Command",
        "For the agent `command`: the program and its arguments",
        form=FormField(only_with="agent=command"),
    )
    program: str | None = setting(
        None,
        "Program",
        "Another program that works like the agent's own: its name on PATH, or its absolute path",
        shape=Shape(
            r"^(?:[^-/\s][^/\s]*|/[^\x00-\x1f]*)?$", "a program", "give its name on PATH, or its absolute path"
        ),
        form=FormField(placeholder="e.g., the name of a fork"),
    )
    permissions: Permissions = setting(
        Permissions.WORK,
        "Permissions",
        "How freely the agent may act unattended",
        choices=tuple(each.value for each in Permissions),
    )
    loop_enabled: bool | None = setting(
        None,
        "Enable Loop",
        "Enable automatic loop until task completion",
        switch=True,
        form=FormField(title="Enable Auto Loop"),
    )
    max_iterations: int | None = setting(
        None,
        "Max Iterations",
        "Maximum number of loop iterations (default: 5)",
        unit="rounds",
        whole=True,
        lowest=1,
        highest=100,
        form=ROUNDS_FORM,
    )
    completion_promise: str | None = setting(
        None,
        "Completion Promise",
        "Exact string that signals task completion (e.g., '<promise>COMPLETE</promise>')",
        aliases=("promise",),
        form=PROMISE_FORM,
    )
    explicit: frozenset[str] = frozenset()
    """The names of the settings that the profile sets."""


@dataclass(frozen=True, slots=True)
@declares(SETTINGS)
class Settings:
    """Everything that can be chosen for a loop when it is created."""

    mode: str = setting(
        "ralph",
        "Mode",
        "How the next prompt is chosen",
        group=AGENT,
        flag=Flag("{modes} (default: ralph).", "MODE", commands=RUN_AND_HOOK),
    )
    agent: str = setting(
        agents.DEFAULT,
        "Agent",
        "The worker: an agent or one of your profiles",
        group=AGENT,
        flag=Flag("{agents}, or a profile.", "NAME"),
    )
    command: str | None = setting(
        None,
        "Command",
        "For --agent command: prompt on stdin, answer on stdout",
        group=AGENT,
        filled=True,
        flag=Flag("For --agent command: prompt on stdin, answer on stdout.", "WORDS"),
        implies=("agent", "command"),
        form=FormField(only_with="agent=command"),
    )
    model: str | None = setting(
        None,
        "Model",
        "Handed to the agent as it is",
        group=AGENT,
        flag=Flag(
            "Handed to the agent as it is, like everything after --.",
            "M",
            commands=EVERYWHERE,
            other_help=dict.fromkeys((HOOK, WRAP), "The supervisor's model, if the agent is its own supervisor."),
        ),
    )
    permissions: Permissions | None = setting(
        None,
        "Permissions",
        "How freely the agent may act unattended",
        group=AGENT,
        choices=tuple(each.value for each in Permissions),
        flag=Flag("How freely the agent may act."),
    )
    context: Context = setting(
        Context.CONTINUE,
        "Context",
        "Follow up in the same session, or a fresh one each time",
        group=AGENT,
        choices=tuple(each.value for each in Context),
        flag=Flag("Go on in the agent's session, or in a new one each round."),
    )
    args: tuple[str, ...] = setting((), "Arguments", "More arguments for the agent, as they are", group=AGENT)
    loop_enabled: bool = setting(
        default=True,
        title="Enable Loop",
        help="Enable automatic loop until task completion",
        group=LOOP,
        shortcuts=(Shortcut("--once", value=False, help="One ordinary run, no loop."),),
        form=FormField(title="Enable Auto Loop"),
    )
    max_iterations: int | Literal["none"] | None = _limit(
        Limit.ITERATIONS,
        "Max Iterations",
        "Maximum number of loop iterations; none: no limit",
        *EVERYWHERE,
        group=LOOP,
        form=ROUNDS_FORM,
    )
    promise: str | None = setting(
        "<promise>COMPLETE</promise>",
        "Completion Promise",
        "Exact string that signals task completion; empty: rely only on max iterations",
        aliases=("completion_promise",),
        group=LOOP,
        flag=Flag('What claims the end; "": nothing does, all rounds are used.', "TEXT", commands=RUN_AND_HOOK),
        form=PROMISE_FORM,
    )
    native_goal: bool = setting(
        default=False,
        title="Native goal",
        help="Each round is a run of the agent's own goal loop, whose end is a claim; for agents that have one",
        group=OTHER_AGENTS,
        flag=Flag("Each round is a run of the agent's own goal loop; its end is a claim."),
    )
    checks: tuple[str, ...] = setting(
        (),
        "Checks",
        "Commands that must pass before a claim is believed",
        group=GATES,
        check=_proves_something,
        flag=Flag("Must pass before a claim is believed; repeatable.", "CMD", names=("--check",), commands=EVERYWHERE),
    )
    check_timeout: float = setting(
        600.0,
        "Check timeout",
        "Seconds that a check may take",
        group=GATES,
        unit="seconds",
        above=0,
        highest=1_000_000_000,
        flag=Flag("Seconds that a check may take (600).", "S", commands=EVERYWHERE),
    )
    require_change: bool = setting(
        default=False,
        title="Require change",
        help="A claim with nothing changed is not believed",
        group=GATES,
        flag=Flag("A claim with nothing changed is not believed.", commands=EVERYWHERE),
    )
    review: bool = setting(
        default=False,
        title="Review",
        help="A supervisor must agree before a claim is believed",
        group=GATES,
        flag=Flag("A supervisor must agree as well.", commands=EVERYWHERE),
    )
    tests: TestsRule = setting(
        TestsRule.ADD,
        "Tests",
        "What the agent may do to tests, runner settings and scripts of checks: add new ones, keep all, or change them freely",
        group=GATES,
        choices=tuple(each.value for each in TestsRule),
        flag=Flag("Judge files: add new ones (default), keep all, or free to change.", commands=EVERYWHERE),
    )
    protect: tuple[str, ...] = setting(
        (),
        "Protect",
        "More files that count as judge files, as globs",
        group=GATES,
        flag=Flag("More judge files, as a glob; repeatable.", "GLOB", commands=EVERYWHERE),
    )
    room: RoomKind | None = setting(
        None,
        "Room",
        "Where checks run: sealed in a copy, restored in place, or plain; empty: the best that this machine allows",
        group=GATES,
        choices=tuple(each.value for each in RoomKind),
        flag=Flag("Where checks run (the best that this machine allows).", commands=EVERYWHERE),
    )
    room_net: bool = setting(
        default=False,
        title="Network in rooms",
        help="Checks in a sealed room have the network",
        group=GATES,
        flag=Flag("Checks in a sealed room have the network.", commands=EVERYWHERE),
    )
    keep_running: tuple[str, ...] = setting(
        (),
        "Keep running",
        "Programs, by name, that may outlive a turn of the agent and run while gates judge",
        group=GATES,
        flag=Flag("A program that may outlive a turn; repeatable.", "NAME", commands=EVERYWHERE),
    )
    fail_on_tampering: bool = setting(
        default=False,
        title="Fail on tampering",
        help="A claim with signs of tampering is not believed",
        group=GATES,
        flag=Flag("A claim with signs of tampering is not believed.", commands=EVERYWHERE),
    )
    ratchet: bool = setting(
        default=False,
        title="Ratchet",
        help="Undo a round after which fewer checks pass than before, and tell the agent",
        group=GATES,
        flag=Flag("Undo a round after which fewer checks pass than before."),
    )
    gates: Mapping[str, str] = setting(
        EMPTY,
        "More gates",
        "Gates of plugins, by name or as module:NAME, each with its argument",
        group=GATES,
        flag=Flag("A gate of a plugin, with its argument; repeatable.", "NAME[=TEXT]", ("--gate",), EVERYWHERE),
    )
    max_minutes: float | None = _limit(
        Limit.MINUTES, "Max minutes", "Minutes of work, all rounds together", *EVERYWHERE
    )
    max_cost: float | None = _limit(
        Limit.COST,
        "Max cost",
        "Dollars, as far as the agent reports them",
        *RUN_AND_WRAP,
        other_help={WRAP: "Dollars of the supervisor: no agent reports its own here."},
    )
    max_tokens: int | None = _limit(
        Limit.TOKENS,
        "Max tokens",
        "Tokens, as far as the agent reports them",
        *RUN_AND_WRAP,
        other_help={WRAP: "Tokens of the supervisor: those of the session are not counted."},
    )
    iteration_timeout: float | None = _limit(
        Limit.ITERATION_TIMEOUT, "Iteration timeout", "Seconds that an iteration may take", RUN
    )
    prices: Mapping[str, str] = setting(
        EMPTY,
        "Prices",
        "Dollars for a million tokens, by model: input, output, cache read, cache write; `date` is their date",
        group=Group("Prices", in_new_loop="absent"),
        check=price_row,
    )
    supervisor: str | None = setting(
        None,
        "Supervisor",
        "Another agent for the role of supervisor",
        group=OTHER_AGENTS,
        flag=Flag("Another agent as supervisor.", "NAME", commands=EVERYWHERE),
    )
    acceptance: str | None = setting(
        None,
        "Author of acceptance tests",
        "Another agent, which writes acceptance tests from the task alone before the work",
        group=OTHER_AGENTS,
        flag=Flag("Another agent, which writes acceptance tests before the work.", "NAME", commands=EVERYWHERE),
    )
    instructor: str | None = setting(
        None,
        "Instructor",
        "Another agent for the role of instructor",
        group=OTHER_AGENTS,
        flag=Flag("Another agent as instructor.", "NAME"),
    )
    fallback_agent: str | None = setting(
        None,
        "Fallback",
        "Carries on while the worker is at its usage limit",
        group=OTHER_AGENTS,
        flag=Flag("Carries on while the agent is at its usage limit.", "NAME"),
    )
    escalate: tuple[str, ...] = setting(
        (),
        "Escalate",
        "Models, or other agents and profiles, that take over one after the other while there is no progress",
        group=OTHER_AGENTS,
        flag=Flag("Models or agents that take over one after the other: a,b,c.", "NAMES"),
    )
    escalate_after: int = setting(
        2,
        "Escalate after",
        "Rounds without progress, in a row, after which the next model or agent takes over",
        group=OTHER_AGENTS,
        unit="times",
        whole=True,
        lowest=1,
        highest=100,
        flag=Flag("Rounds without progress before another model or agent takes over.", "N"),
        form=FormField(only_with="escalate"),
    )
    marker: str = setting(
        "[TASK_COMPLETED]",
        "Marker",
        "Alone on a line, it is the supervisor's agreement",
        group=OTHER_AGENTS,
        filled=True,
        flag=Flag("What the supervisor or instructor ends with.", "TEXT", commands=EVERYWHERE),
    )
    sandbox: Sandbox = setting(
        Sandbox.AUTO,
        "Sandbox",
        "Whether agents run in a box that hides and protects the rest of the machine; auto: where this machine allows it",
        group=SANDBOX,
        choices=tuple(each.value for each in Sandbox),
        flag=Flag(
            "Run agents in a box: where this machine allows it (default), always, or never.", commands=EVERYWHERE
        ),
    )
    sandbox_net: SandboxNet = setting(
        SandboxNet.ALL,
        "Network in the sandbox",
        "What agents in a box reach: all of the network, hosts that are allowed by name, or none",
        group=SANDBOX,
        choices=tuple(each.value for each in SandboxNet),
        flag=Flag("What agents in a box reach of the network.", commands=(*EVERYWHERE, IN_SANDBOX)),
    )
    allow_write: tuple[str, ...] = setting(
        (),
        "Allow writing",
        "Files and folders outside of the workspace that agents in a box may write to",
        group=SANDBOX,
        check=filled_text,
        flag=Flag("A path that agents in a box may write to; repeatable.", "PATH", commands=(*EVERYWHERE, IN_SANDBOX)),
    )
    allow_read: tuple[str, ...] = setting(
        (),
        "Allow reading",
        "Files and folders that a box would hide and that agents in it may read",
        group=SANDBOX,
        check=filled_text,
        flag=Flag(
            "A hidden path that agents in a box may read; repeatable.", "PATH", commands=(*EVERYWHERE, IN_SANDBOX)
        ),
    )
    allow_host: tuple[str, ...] = setting(
        (),
        "Allow hosts",
        "Hosts, by name, that agents in a box may reach beside those of their own API",
        group=SANDBOX,
        check=host_name,
        flag=Flag("A host that agents in a box may reach; repeatable.", "HOST", commands=(*EVERYWHERE, IN_SANDBOX)),
    )
    allow_ssh: bool = setting(
        default=False,
        title="Allow SSH agent",
        help="Agents in a box may use your SSH agent",
        group=SANDBOX,
        flag=Flag("Agents in a box may use your SSH agent.", commands=(*EVERYWHERE, IN_SANDBOX)),
    )
    pass_env: tuple[str, ...] = setting(
        (),
        "Pass variables on",
        "Variables of yours that agents and checks get beside the usual ones: NAME, NAME_*, or * for all",
        group=SANDBOX,
        check=variable_name,
        flag=Flag(
            "A variable of yours that agents and checks get; NAME_* for several; repeatable.",
            "NAME",
            commands=(*EVERYWHERE, IN_SANDBOX),
        ),
    )
    worktree: bool = setting(
        default=False,
        title="Worktree",
        help="Work in a git worktree of its own",
        group=WORKSPACE,
        flag=Flag("Work in a git worktree of its own."),
    )
    children: int = setting(
        default=0,
        title="Loops of its own",
        help="Loops that the agent may start, each in a worktree, with a share of the budget",
        group=BUDGET,
        unit="loops",
        whole=True,
        lowest=0,
        highest=100,
        flag=Flag("How many loops the agent may start, each in a worktree, with a share of the budget.", "N"),
    )
    commit: bool = setting(
        default=False,
        title="Commit",
        help="A commit after each round",
        group=WORKSPACE,
        flag=Flag(
            "A commit after each round.",
            commands=EVERYWHERE,
            other_help={HOOK: "A commit after each round that is looked at."},
        ),
    )
    interactive: bool = setting(
        default=False,
        title="Interactive",
        help="Ask the person between steps",
        group=WORKSPACE,
        flag=Flag("Ask the person between steps.", names=("--interactive/--no-interactive",)),
        shortcuts=(Shortcut("--auto", value=False, help="Never ask the person between steps."),),
    )
    retry_delay: float = setting(
        2.0,
        "Retry delay",
        "Seconds before a failed turn is tried again",
        group=WORKSPACE,
        unit="seconds",
        lowest=0,
        highest=1_000_000_000,
    )
    signing_key: str | None = setting(
        None,
        "Signing key",
        "The SSH key that signs receipts: a private key, or the public key of one in your SSH agent",
        group=WORKSPACE,
        filled=True,
    )
    notify_desktop: bool = setting(
        default=False,
        title="Notify on the desktop",
        help="A desktop notification when a loop needs you or has news",
        group=NOTIFICATIONS,
    )
    notify_webhook: str | None = setting(
        None,
        "Notify by webhook",
        "Where notifications are posted as JSON",
        group=NOTIFICATIONS,
        shape=Shape(r"^https?://[^\s]+$", "a web address", "give one that starts with http:// or https://"),
    )
    notify_secret: str | None = setting(
        None,
        "Webhook secret",
        "Signs what is posted: X-Untildone-Signature is the HMAC-SHA256 of the body",
        group=NOTIFICATIONS,
        filled=True,
        form=FormField(secret=True, only_with="notify_webhook"),
    )
    notify_command: tuple[str, ...] = setting(
        (),
        "Notify by command",
        "Program and arguments, run for each notification; no shell",
        group=NOTIFICATIONS,
    )
    notify_apprise: tuple[str, ...] = setting(
        (),
        "Notify by apprise",
        "Addresses of chats, mail, phones and 100 other services, as apprise writes them: ntfy://topic, slack://…, mailto://…",
        group=NOTIFICATIONS,
        check=apprise_address,
        form=FormField(secret=True),
    )
    notify_events: tuple[str, ...] = setting(
        NOTICES,
        "Notify about",
        "What notifications are sent for: blocked, rest, limit, lifted, budget, tampering",
        group=NOTIFICATIONS,
        check=notice_kind,
    )
    notify_templates: Mapping[str, str] = setting(
        EMPTY,
        "Templates of notifications",
        "A text of yours by kind of notification, with {title}, {about}, {spend}, {link}, {answer}, …",
        group=NOTIFICATIONS,
        check=notice_template,
    )
    dashboard_url: str | None = setting(
        None,
        "Address of the dashboard",
        "Where people reach the dashboard: links in notifications begin with it; not set: the server's own address",
        group=NOTIFICATIONS,
        shape=Shape(r"^https?://[^\s]+$", "a web address", "give one that starts with http:// or https://"),
    )
    reply_hours: float = setting(
        72.0,
        "Reply links",
        "Hours for which the reply link of a notification is valid",
        group=NOTIFICATIONS,
        unit="hours",
        above=0,
        highest=8760,
    )
    store: str | None = setting(
        None,
        "Store",
        "The Postgres database that keeps the loops, as postgres://user@host/database; none: files",
        group=CLUSTER,
        shape=Shape(r"^(postgres(ql)?://[^\s]+)?$", "the address of a database", "give postgres://user@host/database"),
        form=FormField(secret=True),
    )
    cluster: Mapping[str, str] = setting(
        EMPTY,
        "Cluster",
        "Where Temporal is, and how this machine works for it: temporal, queue, slots, …",
        group=CLUSTER,
    )
    remote: str | None = setting(
        None,
        "Remote",
        "For a cluster: the git remote that the work comes from and goes to; not set: origin of the folder",
        group=CLUSTER,
        filled=True,
        flag=Flag("For a cluster: the git remote of the work (origin of the folder).", "URL"),
    )
    branch: str | None = setting(
        None,
        "Branch",
        "For a cluster: the branch that the work is published on; not set: one of the loop's own",
        group=CLUSTER,
        filled=True,
        flag=Flag("For a cluster: where the work is published (a branch of its own).", "B"),
    )
    group: str | None = setting(
        None,
        "Group",
        "Loops of one group share a total of dollars and of loops at once; needs loops in Postgres",
        group=CLUSTER,
        shape=Shape(
            r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$",
            "the name of a group",
            "give letters, digits, - and _, at most 100, a letter or digit first",
        ),
        flag=Flag("Share a total with the other loops of a group; needs --store.", "NAME"),
    )
    profiles: Mapping[str, AgentProfile] = setting(EMPTY, "Profiles", "Your own names for agents", group=PROFILES)
    options: Mapping[str, Any] = EMPTY
    """The options of all modes, by name."""
    explicit: frozenset[str] = frozenset()
    """The names of the settings that a file, the environment or a flag sets."""
    overriding: frozenset[str] = frozenset()
    """The names of those that a flag or the environment sets: they overrule the profile of the agent."""

    def overrides_profile(self, name: str) -> bool:
        """Whether a flag or the environment sets this setting, so that it wins over the agent's profile."""
        return name in self.overriding


class Chosen(TypedDict, total=False):
    """The settings that a program may choose for a loop, all of them optional; docs/guide.md says what each means."""

    mode: str
    route: Literal["direct", "planned", "ralph", "architect", "ui_flow", "auto"]
    agent: str
    command: str
    model: str
    args: Sequence[str]
    instructor: str
    supervisor: str
    acceptance: str
    fallback_agent: str
    escalate: Sequence[str]
    escalate_after: int
    permissions: Literal["work", "edit", "read"]
    checks: Sequence[str]
    check_timeout: float
    review: bool
    review_threshold: int
    require_change: bool
    tests: Literal["add", "keep", "free"]
    protect: Sequence[str]
    room: Literal["sealed", "restored", "plain"]
    room_net: bool
    keep_running: Sequence[str]
    fail_on_tampering: bool
    sandbox: Literal["auto", "on", "off"]
    sandbox_net: Literal["all", "hosts", "none"]
    allow_write: Sequence[str]
    allow_read: Sequence[str]
    allow_host: Sequence[str]
    allow_ssh: bool
    pass_env: Sequence[str]
    ratchet: bool
    baseline: bool
    ignore_failing: bool
    prove: bool
    prove_minutes: float
    causal: bool
    canary: bool
    red_first: bool
    held_out: str
    mutants: bool
    repeat: int
    gates: Mapping[str, str]
    loop_enabled: bool
    native_goal: bool
    max_iterations: int | Literal["none"]
    max_minutes: float
    max_cost: float
    max_tokens: int
    iteration_timeout: float
    prices: Mapping[str, str]
    promise: str
    marker: str
    context: Literal["continue", "fresh"]
    interactive: bool
    worktree: bool
    children: int
    signing_key: str
    commit: bool
    remote: str
    branch: str
    group: str
    retry_delay: float
    notify_command: Sequence[str]
    notify_webhook: str
    notify_secret: str
    notify_desktop: bool
    notify_apprise: Sequence[str]
    notify_events: Sequence[str]
    notify_templates: Mapping[str, str]
    dashboard_url: str
    reply_hours: float
    store: str
    cluster: Mapping[str, str]
    profiles: Mapping[str, Mapping[str, object]]


@cache
def every(mode_names: tuple[str, ...] | None = None) -> Mapping[str, Setting]:
    """All settings by name, with the options of these modes; None: of all modes, those of plugins included."""
    from untildone import modes

    chosen = modes.names() if mode_names is None else mode_names
    made = {option.name: _of_mode(mode, option) for name in chosen for mode, option in _options(name)}
    first = {name: SETTINGS[name] for name in ("mode", "agent")}
    return MappingProxyType({**first, **made, **SETTINGS, **_of_gates()})


def _options(mode: str) -> tuple[tuple[str, Option], ...]:
    """The options of a mode. A plugin that cannot be loaded is an error only where its mode is chosen."""
    from untildone import modes
    from untildone.core.errors import UsageError

    try:
        return modes.options((mode,))
    except UsageError:
        return ()


def _of_gates() -> dict[str, Setting]:
    """The settings that the options of gates declare."""
    from untildone import gates

    flags = {option.name: Flag(f"{option.help}.", commands=EVERYWHERE) for option in gates.options() if option.has_flag}
    return {
        option.name: replace(_of_option(option), help=option.help, group=GATES, flag=flags.get(option.name))
        for option in gates.options()
    }


def _of_mode(mode: str, option: Option) -> Setting:
    """The setting that an option of a mode declares."""
    shortcuts = (
        Shortcut(f"--{each.flag}", each.value, f"Short for --mode {mode} --{option.name} {each.value}.")
        for each in option.shortcuts
    )
    return replace(
        _of_option(option),
        help=f"For the mode `{mode}`: {option.help}",
        group=AGENT,
        flag=Flag(f"For the mode {mode}: {option.help}.", commands=RUN_AND_HOOK) if option.has_flag else None,
        shortcuts=tuple(shortcuts),
        implies=("mode", mode),
        form=FormField(only_with=f"mode={mode}"),
    )


def _of_option(option: Option) -> Setting:
    is_number = isinstance(option.default, int | float) and not isinstance(option.default, bool)
    return Setting(
        option.default,
        option.title,
        option.help,
        name=option.name,
        choices=option.choices,
        unit="points" if is_number else "",
        whole=isinstance(option.default, int),
        lowest=option.lowest,
        highest=option.highest,
    )


def by_any_name() -> dict[str, Setting]:
    """Every setting by its name and by its aliases."""
    return {name: each for each in every().values() for name in (each.name, *each.aliases)}


def flag_names(command: Command) -> frozenset[str]:
    """Every flag with which a command sets a setting: `-r`, `--review`, `--no-review`, …"""
    declared = [each for each in every().values() if each.is_flag_of(command)]
    spelled = (name for each in declared for names in each.flag_names for name in names.split("/"))
    return frozenset((*spelled, *(short.name for each in declared for short in each.shortcuts)))


def value_of(chosen: Settings, name: str) -> Any:
    """The value of a setting or of an option of a mode."""
    return getattr(chosen, name) if name in SETTINGS else chosen.options[name]


def as_json(chosen: Settings) -> dict[str, Any]:
    """The values of all settings as JSON, in the order of their declaration."""
    from untildone.core.values.codec import to_json

    values = {name: to_json(value_of(chosen, name)) for name in every() if name != "profiles"}
    profiles = {
        name: {key: to_json(getattr(profile, key)) for key in PROFILE_SETTINGS}
        for name, profile in chosen.profiles.items()
    }
    return {**values, "profiles": profiles}
