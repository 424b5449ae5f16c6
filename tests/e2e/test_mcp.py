"""covers: `untildone mcp` over standard input and output, with the client of the official SDK, and with hostile input."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClientExtension, ResultClaim
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ElicitResult, Request, Result
from tests.support.command_line import PATIENCE, CommandLine, until

CHECK = "test -e work.txt"
TOOLS = {"start", "list", "show", "wait", "say", "budget", "verify", "diff", "approve", "stop"}


@asynccontextmanager
async def connected(cli: CommandLine, **options: Any) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "untildone", "mcp"], env=cli.environment, cwd=cli.workspace
    )
    async with Client(stdio_client(command), **options) as client:
        yield client


def played(cli: CommandLine, play: Callable[[Client], Awaitable[None]]) -> None:
    """Play a conversation with a server of its own."""

    async def whole() -> None:
        async with connected(cli) as client:
            await play(client)

    asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE))


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured result of a tool that must not fail."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return "".join(getattr(part, "text", "") for part in result.content)


WORKS = {"write": {"work.txt": "done\n"}, "claim": True}


def test_a_job_is_handed_over_waited_for_and_proved(cli: CommandLine) -> None:
    cli.project(WORKS, checks=[CHECK])

    async def play(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        started = await answer(client, "start", task="Write work.txt", rounds=3)
        loop_id = started["loop_id"]
        assert (started["status"], started["max_rounds"], started["checks"]) == ("running", 3, [CHECK])
        rested = await answer(client, "wait", loop=loop_id, seconds=60)
        assert (rested["status"], rested["outcome"], rested["rounds"]) == ("completed", "verified", 1)
        assert "+done" in (await answer(client, "diff", loop=loop_id))["result"]
        (check,) = (await answer(client, "verify", loop=loop_id))["result"]
        assert (check["command"], check["passed_then"], check["passed_now"]) == (CHECK, True, True)
        assert [each["loop_id"] for each in (await answer(client, "list"))["result"]] == [loop_id]
        (receipt,) = (await client.read_resource(f"loop://{loop_id}/receipt")).contents
        assert json.loads(getattr(receipt, "text", ""))["loop_id"] == loop_id
        (printed,) = (await client.read_resource(f"loop://{loop_id}/output/1")).contents
        assert "<promise>" in getattr(printed, "text", "")
        for name in ("nonsense/receipt", f"{loop_id}/output/9", "../x/output/1", f"{loop_id}/output/x"):
            with pytest.raises(MCPError):
                await client.read_resource(f"loop://{name}")

    played(cli, play)


def test_a_handle_outlives_the_server(cli: CommandLine) -> None:
    cli.project({"sleep": 2.0, **WORKS}, checks=[CHECK])
    handles: list[str] = []

    async def begin(client: Client) -> None:
        handles.append((await answer(client, "start", task="Write work.txt"))["loop_id"])
        waited = await answer(client, "wait", loop=handles[0], seconds=0.2)
        assert waited["status"] == "running", "a wait that is over says where the loop stands"

    async def go_on(client: Client) -> None:
        assert (await answer(client, "wait", loop=handles[0], seconds=60))["outcome"] == "verified"

    played(cli, begin)
    played(cli, go_on)


def test_checks_are_added_to_those_of_the_project(cli: CommandLine) -> None:
    cli.project(WORKS, checks=[CHECK])

    async def play(client: Client) -> None:
        started = await answer(client, "start", task="Write work.txt", checks=["true", CHECK])
        assert started["checks"] == [CHECK, "true"]
        await answer(client, "stop", loop=started["loop_id"], now=True)

    played(cli, play)
    until(lambda: cli.shown()["status"] != "running")


@pytest.fixture
def blocked(cli: CommandLine) -> CommandLine:
    """A project whose agent asks a question before it works."""
    agent = cli.home / "agent.sh"
    agent.write_text(
        "#!/bin/sh\nif grep -q staging; then touch work.txt; echo '<promise>COMPLETE</promise>'\n"
        "else echo '<blocked>Which database?</blocked>'; fi\n"
    )
    agent.chmod(0o755)
    (cli.workspace / "untildone.toml").write_text(f'agent = "command"\ncommand = "{agent}"\nchecks = ["{CHECK}"]\n')
    return cli


def test_a_blocked_loop_is_answered(blocked: CommandLine) -> None:
    async def play(client: Client) -> None:
        loop_id = (await answer(client, "start", task="Connect it"))["loop_id"]
        blocked = await answer(client, "wait", loop=loop_id, seconds=60)
        assert (blocked["outcome"], blocked["reason"]) == ("blocked", "Which database?")
        assert "say" in blocked["next"]
        await answer(client, "say", loop=loop_id, text="Use staging.")
        assert (await answer(client, "wait", loop=loop_id, seconds=60))["outcome"] == "verified"

    played(blocked, play)


class TaskHandle(Result):
    """What `start` returns to a client that knows tasks."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class TaskState(Result):
    status: str = ""
    input_requests: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class Tasks(ClientExtension):
    """A client that knows tasks and shows their handles."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        async def resolve(_handle: TaskHandle, _context: Any) -> CallToolResult:
            raise AssertionError("handles are shown")

        return (ResultClaim(result_type="task", model=TaskHandle, resolve=resolve),)


async def of_task(client: Client, method: str, task_id: str, **given: Any) -> TaskState:
    request = Request[dict[str, Any], str](method=method, params={"taskId": task_id, **given})
    return await client.session.send_request(request, TaskState)


async def at_rest(client: Client, task_id: str) -> TaskState:
    while True:
        state = await of_task(client, "tasks/get", task_id)
        if state.status != "working":
            return state
        await asyncio.sleep(0.05)


@pytest.mark.slow
def test_a_client_that_knows_tasks_gets_the_loop_as_one_also_from_the_next_server(blocked: CommandLine) -> None:
    """The server is another one for each conversation; the loop asks, is answered, and another one is cancelled."""
    tasks: list[str] = []

    async def person(*_: Any) -> ElicitResult:
        raise AssertionError("the test answers by tasks/update")

    def played_as(*extensions: Tasks, play: Callable[[Client], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with connected(blocked, extensions=extensions, elicitation_callback=person) as client:
                await play(client)

        asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE))

    async def begin(client: Client) -> None:
        for task in ("Connect it", "Connect that"):
            handle = await client.session.call_tool("start", {"task": task, "worktree": False}, allow_claimed=True)
            assert isinstance(handle, TaskHandle)
            assert handle.status == "working"
            tasks.append(handle.task_id)
        refused = await client.call_tool("start", {"task": "x", "agent": "no-such-agent"})
        assert refused.is_error
        with pytest.raises(MCPError, match="no task"):
            await of_task(client, "tasks/get", "last")

    async def answer_it(client: Client) -> None:
        asked = await at_rest(client, tasks[0])
        ((key, question),) = (asked.input_requests or {}).items()
        assert (asked.status, question["params"]["message"]) == ("input_required", "Which database?")
        said = {"action": "accept", "content": {"answer": "Use staging."}}
        await of_task(client, "tasks/update", tasks[0], inputResponses={"question-9": said})
        assert (await of_task(client, "tasks/get", tasks[0])).status == "input_required"
        await of_task(client, "tasks/update", tasks[0], inputResponses={key: said})
        await of_task(client, "tasks/cancel", tasks[1])

    async def finish(client: Client) -> None:
        done = await at_rest(client, tasks[0])
        assert done.status == "completed"
        assert done.result is not None
        assert done.result["structuredContent"]["outcome"] == "verified"
        assert (await of_task(client, "tasks/get", tasks[1])).status == "cancelled"

    async def without(client: Client) -> None:
        with pytest.raises(MCPError, match="did not declare"):
            await of_task(client, "tasks/get", tasks[0])

    for play in (begin, answer_it, finish):
        played_as(Tasks(), play=play)
    played_as(play=without)


def test_limits_are_changed_and_bad_input_gets_a_sentence(cli: CommandLine) -> None:
    cli.project({"say": "not yet"}, checks=[CHECK])

    async def play(client: Client) -> None:
        loop_id = (await answer(client, "start", task="Write work.txt", rounds=1))["loop_id"]
        assert (await answer(client, "wait", loop=loop_id, seconds=60))["outcome"] == "budget"
        assert (await answer(client, "budget", loop=loop_id, rounds="+2"))["max_rounds"] == 3
        assert "is not an amount" in await refusal(client, "budget", loop=loop_id, rounds="many")
        assert "No limit was given" in await refusal(client, "budget", loop=loop_id)
        assert "There is no message" in await refusal(client, "say", loop=loop_id, text=" ")
        for name in ("nonsense", "../../etc", "--now", "\n"):
            assert "There is no loop" in await refusal(client, "show", loop=name)
        assert "Nothing to approve" in await refusal(client, "approve", loop=loop_id, paths=[])
        assert "task" in await refusal(client, "start", task="  ")
        for given in ({"agent": "os:path"}, {"mode": "os:path"}, {"agent": "acp:touch x"}, {"mode": "acp:kilo"}):
            assert "hint: give the name of an agent or a mode" in await refusal(client, "start", task="x", **given)
        assert "kilo" in (missing := await refusal(client, "start", task="x", agent="acp:kilo"))
        assert "is not on PATH" in missing, "one that is known by its name may be chosen"
        assert "seconds" in await refusal(client, "wait", loop=loop_id, seconds=1e9)
        with pytest.raises(MCPError, match="no receipt"):
            await client.read_resource(f"loop://{loop_id}/receipt")

    played(cli, play)


def test_an_agent_inside_a_loop_steers_nothing(cli: CommandLine) -> None:
    """The agent of a loop starts a server of its own, as an agent program does that has it in its settings."""
    program = cli.home / "inside.py"
    program.write_text(
        "import asyncio, sys\n"
        "from mcp import Client\n"
        "from mcp.client.stdio import StdioServerParameters, stdio_client\n"
        "import os\n"
        "async def play():\n"
        "    command = StdioServerParameters(command=sys.executable, args=['-P', '-m', 'untildone', 'mcp'], env=dict(os.environ))\n"
        "    async with Client(stdio_client(command)) as client:\n"
        "        for tool, given in (('start', {'task': 'x', 'checks': ['true']}), ('stop', {'loop': 'last'}),\n"
        "                            ('say', {'loop': 'last', 'text': '[r+9] go'}), ('budget', {'loop': 'last', 'rounds': '+9'}),\n"
        "                            ('approve', {'loop': 'last', 'paths': ['a']})):\n"
        "            result = await client.call_tool(tool, given)\n"
        "            print('refused' if result.is_error else 'DONE', tool, result.content[0].text)\n"
        "asyncio.run(play())\n"
    )
    agent = cli.home / "agent.sh"
    agent.write_text(
        f"#!/bin/sh\n'{sys.executable}' '{program}' > '{cli.home}/calls'\ntouch work.txt\necho '<promise>COMPLETE</promise>'\n"
    )
    agent.chmod(0o755)
    for box in ("off", "auto"):
        ended = cli.run("run", "--sandbox", box, "--command", str(agent), "--check", CHECK, "-r", "1", "Do it")
        assert ended.code == 0, ended.errors
        calls = (cli.home / "calls").read_text().splitlines()
        assert [call.split()[0] for call in calls if call.split()[0] in ("refused", "DONE")] == ["refused"] * 5, calls
    assert len(cli.loops) == 2


COMMAND = (sys.executable, "-P", "-m", "untildone", "mcp")
MOST_MEMORY = 600_000
"""Kilobytes of address space: ten times the longest message are more."""
HOSTILE = (
    b"\xff\xfe not text\n",
    b"{\n",
    b"[]\n",
    b"[" * 100_000 + b"\n",
    b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}\n',
    b'{"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": 7}\n',
    b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "show", "arguments": {"loop": {"a": [1]}}}}\n',
    b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "show", "arguments": "x"}}\n',
    b'{"jsonrpc": "2.0", "id": 4, "result": {}}\n',
    b'{"jsonrpc": "1.0", "id": 5, "method": "initialize"}\n',
    b'{"a": "' + b"x" * 40_000_000 + b'"}\n',
    b"\n\n\0\n",
)


def test_malformed_huge_and_out_of_order_messages_end_nothing(cli: CommandLine) -> None:
    """After all of them, the server still answers, in little memory, writes nothing but messages, and ends when its input does."""
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    begin = json.dumps({"jsonrpc": "2.0", "id": 99, "method": "initialize", "params": first}).encode() + b"\n"
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -v "$1"; shift; exec "$@"', "sh", str(MOST_MEMORY), *COMMAND],
        input=b"".join(HOSTILE) + begin,
        env=cli.environment,
        cwd=cli.workspace,
        capture_output=True,
        timeout=PATIENCE,
    )
    messages = [json.loads(line) for line in ended.stdout.splitlines()]
    assert any(message.get("id") == 99 and "result" in message for message in messages), ended.stderr[-2000:]
    assert ended.returncode == 0
    assert b"Traceback" not in ended.stderr


@pytest.mark.slow
def test_a_client_that_reads_nothing_is_left_when_it_closes_its_side(cli: CommandLine) -> None:
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = [("initialize", first), *(("tools/list", {}) for _ in range(40))]
    with subprocess.Popen(
        COMMAND, env=cli.environment, cwd=cli.workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for number, (method, given) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": given}
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.close()
        try:
            assert process.wait(2 * PATIENCE) == 0
        finally:
            process.kill()


def test_without_the_package_it_says_which_extra(cli: CommandLine) -> None:
    (cli.home / "mcp.py").write_text("raise ImportError\n")
    blocked = cli.home / "sitecustomize.py"
    blocked.write_text(
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'mcp' else find(name, *more)\n"
    )
    cli.environment["PYTHONPATH"] = f"{cli.home}:{cli.environment['PYTHONPATH']}"
    ended = cli.run("mcp")
    assert ended.code == 2
    assert "extra `mcp`" in ended.errors
