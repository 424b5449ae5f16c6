"""covers: `untildone acp` with the reference client of the official SDK, and with hostile input."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from acp import Client, RequestError, spawn_agent_process, text_block
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    RequestPermissionResponse,
)
from tests.support.command_line import PATIENCE, CommandLine, until

CHECK = "test -e work.txt"
COMMAND = (sys.executable, "-P", "-m", "untildone", "acp")


class Editor:
    """Keeps every update."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.works = asyncio.Event()
        """Whether a tool call has begun."""

    async def session_update(self, session_id: str, update: Any, **_kwargs: Any) -> None:
        self.updates.append(update)
        if update.session_update == "tool_call":
            self.works.set()

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]

    @property
    def words(self) -> str:
        return "".join(update.content.text for update in self.of("agent_message_chunk"))

    @property
    def calls(self) -> dict[str, tuple[str, str]]:
        """Title and last status of every tool call."""
        calls = {update.tool_call_id: (update.title, update.status) for update in self.of("tool_call")}
        for update in self.of("tool_call_update"):
            calls[update.tool_call_id] = (calls[update.tool_call_id][0], update.status)
        return calls


class Connected:
    """An editor with a session, and a process of ours."""

    def __init__(self, conn: Any, editor: Editor, cwd: str) -> None:
        self.conn, self.editor, self.cwd = conn, editor, cwd
        self.session = ""

    async def begin(self) -> None:
        self.session = (await self.conn.new_session(cwd=self.cwd, mcp_servers=[])).session_id

    async def ask(self, text: str) -> str:
        answer = await self.conn.prompt(session_id=self.session, prompt=[text_block(text)])
        return str(answer.stop_reason)


@asynccontextmanager
async def connected(
    cli: CommandLine, editor: Editor | None = None, form: ElicitationCapabilities | None = None
) -> AsyncIterator[Connected]:
    editor = editor or Editor()
    async with spawn_agent_process(
        cast(Client, editor), *COMMAND, env=cli.environment, cwd=cli.workspace, use_unstable_protocol=True
    ) as (
        conn,
        _process,
    ):
        await conn.initialize(protocol_version=1, client_capabilities=ClientCapabilities(elicitation=form))
        yield Connected(conn, editor, str(cli.workspace))


def played(cli: CommandLine, play: Callable[[Connected], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with connected(cli) as editor:
            await play(editor)

    asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE))


LIES = {"say": "It is all there.", "claim": True}
WORKS = {"say": "Now it is there.", "write": {"work.txt": "done\n"}, "claim": True}


def test_a_prompt_is_a_loop_that_ends_when_its_checks_pass(cli: CommandLine) -> None:
    cli.project(LIES, WORKS, checks=[CHECK])

    async def play(editor: Connected) -> None:
        await editor.begin()
        assert await editor.ask("Write work.txt") == "end_turn"
        shown = editor.editor
        rounds = [call for call in shown.calls.values() if call[0].startswith("Round")]
        assert [status for _title, status in rounds] == ["completed", "completed"]
        checks = [status for title, status in shown.calls.values() if title == CHECK]
        assert checks == ["failed", "completed"]
        assert ("write work.txt", "completed") in shown.calls.values(), "a tool call of the agent"
        assert shown.words.count("It is all there.") == 1
        assert "**verified**" in shown.words
        assert {entry.status for entry in shown.of("plan")[-1].entries} == {"completed"}

    played(cli, play)
    assert cli.shown()["outcome"] == "verified"


def test_words_come_while_the_agent_works_and_once_only(cli: CommandLine) -> None:
    """The agent waits in the middle of its answer until the editor has the first half."""
    agent = cli.home / "agent.sh"
    agent.write_text(
        "#!/bin/sh\necho 'The first half.'\n"
        f"while test ! -e '{cli.home}/go'; do sleep 0.05; done\n"
        "touch work.txt\necho 'The second half. <promise>COMPLETE</promise>'\n"
    )
    agent.chmod(0o755)
    (cli.workspace / "untildone.toml").write_text(f'agent = "command"\ncommand = "{agent}"\nchecks = ["{CHECK}"]\n')

    async def play(editor: Connected) -> None:
        await editor.begin()
        asked = asyncio.create_task(editor.ask("Write work.txt"))
        await asyncio.to_thread(until, lambda: "The first half." in editor.editor.words)
        assert [status for _title, status in editor.editor.calls.values()] == ["in_progress"], "the round goes on"
        (cli.home / "go").touch()
        assert await asked == "end_turn"
        assert editor.editor.words.count("The first half.") == 1
        assert editor.editor.words.count("The second half.") == 1

    played(cli, play)


def test_the_next_prompt_answers_a_blocked_loop(cli: CommandLine) -> None:
    agent = cli.home / "agent.sh"
    agent.write_text(
        "#!/bin/sh\nif grep -q staging; then touch work.txt; echo '<promise>COMPLETE</promise>'\n"
        "else echo '<blocked>Which database?</blocked>'; fi\n"
    )
    agent.chmod(0o755)
    (cli.workspace / "untildone.toml").write_text(f'agent = "command"\ncommand = "{agent}"\nchecks = ["{CHECK}"]\n')

    async def play(editor: Connected) -> None:
        await editor.begin()
        assert await editor.ask("Connect it") == "end_turn"
        assert "Which database?" in editor.editor.words
        editor.editor.updates.clear()
        assert await editor.ask("Use staging.") == "end_turn"
        assert "**verified**" in editor.editor.words
        assert "Which database?" not in editor.editor.words, "what the editor knows is not sent again"

    played(cli, play)
    assert len(cli.loops) == 1


class Asking(Editor):
    """An editor that asks its person: the answers are given beforehand."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[tuple[str, list[str]]] = []

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_kwargs: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call.title, [option.name for option in options]))
        wanted = self.answers.pop(0)
        taken = next(option.option_id for option in options if wanted in option.name)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=taken))

    async def create_elicitation(self, message: str, mode: Any, **_kwargs: Any) -> AcceptElicitationResponse:
        self.asked.append((message, []))
        return AcceptElicitationResponse(action="accept", content={"answer": self.answers.pop(0)})


@pytest.mark.slow
def test_an_editor_that_can_asks_its_person_and_the_loop_goes_on_in_the_same_prompt(cli: CommandLine) -> None:
    """A form for words, then a choice of the agent's own, more rounds, and files that decide about the work; then left paused."""
    cli.environment["UNTILDONE_ROOM"] = "restored"
    agent = cli.home / "agent.sh"
    agent.write_text(
        "#!/bin/sh\nprompt=$(cat)\n"
        f"seen() {{ test -e '{cli.home}/'$1 || {{ touch '{cli.home}/'$1; false; }}; }}\n"
        "seen words || { echo '<blocked>Which database?</blocked>'; exit; }\n"
        "seen choice || { printf '<blocked>Which colour?\\n- red\\n- blue</blocked>\\n'; exit; }\n"
        "case $prompt in *blue*) touch blue;; esac\n"
        "echo 'exit 0' > test.sh\ntouch work.txt\necho '<promise>COMPLETE</promise>'\n"
    )
    agent.chmod(0o755)
    (cli.workspace / "test.sh").write_text("exit 1\n")
    (cli.workspace / "untildone.toml").write_text(
        f'agent = "command"\ncommand = "{agent}"\nchecks = ["sh test.sh"]\nmax_iterations = 3\nprotect = ["test.sh"]\n'
    )
    person = Asking("staging", "blue", "Leave it paused", "Approve")

    async def whole() -> None:
        async with connected(cli, person, form=ElicitationCapabilities(form=ElicitationFormCapabilities())) as editor:
            await editor.begin()
            assert await editor.ask("Connect it") == "max_turn_requests"
            assert (await asyncio.to_thread(cli.shown))["status"] == "paused"
            assert await editor.ask("[r+1] Look again.") == "end_turn"

    asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE))
    titles = [title for title, _ in person.asked]
    assert titles[0] == "Which database?"
    assert titles[1].startswith("Which colour?")
    assert person.asked[1][1][:2] == ["red", "blue"]
    assert "test.sh" in titles[2]
    assert (cli.workspace / "blue").exists()
    assert (cli.shown()["outcome"], person.answers) == ("verified", [])


def test_cancel_pauses_and_the_next_prompt_goes_on(cli: CommandLine) -> None:
    cli.project({"write": {"begun.txt": "x"}, "hang": True}, WORKS, checks=[CHECK])

    async def play(editor: Connected) -> None:
        await editor.begin()
        asked = asyncio.create_task(editor.ask("Write work.txt"))
        await asyncio.to_thread(until, (cli.workspace / "begun.txt").exists)
        await editor.conn.cancel(session_id=editor.session)
        assert await asked == "cancelled"
        assert (await asyncio.to_thread(cli.shown))["status"] == "paused"
        assert await editor.ask("Go on.") == "end_turn"

    played(cli, play)
    shown = cli.shown()
    assert (shown["outcome"], len(cli.loops)) == ("verified", 1)


def test_a_cancel_that_comes_with_its_prompt_is_obeyed(cli: CommandLine) -> None:
    """Both are sent before the loop exists."""
    cli.project({"hang": True}, checks=[CHECK])

    async def play(editor: Connected) -> None:
        await editor.begin()
        for _ in range(3):
            asked = asyncio.create_task(editor.ask("Write work.txt"))
            await asyncio.sleep(0)
            await editor.conn.cancel(session_id=editor.session)
            assert await asked == "cancelled"
            assert (await asyncio.to_thread(cli.shown))["status"] == "paused"

    played(cli, play)


def test_two_prompts_at_once_are_one_loop(cli: CommandLine) -> None:
    """The second one is a message to the loop of the first, and the session keeps that loop."""
    cli.project({"sleep": 0.5}, WORKS, checks=[CHECK])

    async def play(editor: Connected) -> None:
        await editor.begin()
        both = await asyncio.gather(editor.ask("Write work.txt"), editor.ask("Mind the tests."))
        assert set(both) == {"end_turn"}

    played(cli, play)
    (loop,) = cli.loops
    assert loop["outcome"] == "verified"


def test_an_editor_that_reads_nothing_is_left_when_it_closes_its_side(cli: CommandLine) -> None:
    with subprocess.Popen(
        COMMAND, env=cli.environment, cwd=cli.workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        asked = {"jsonrpc": "2.0", "method": "x" * 10_000}
        for number in range(50):
            process.stdin.write(json.dumps({**asked, "id": number}).encode() + b"\n")
        process.stdin.close()
        try:
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def test_a_session_is_found_again_after_the_process_was_killed(cli: CommandLine) -> None:
    cli.project({"sleep": 2.0, **WORKS}, checks=[CHECK])
    sessions: list[str] = []

    async def begin() -> None:
        editor = Editor()
        async with spawn_agent_process(
            cast(Client, editor), *COMMAND, env=cli.environment, cwd=cli.workspace, use_unstable_protocol=True
        ) as (
            conn,
            process,
        ):
            await conn.initialize(protocol_version=1)
            talk = Connected(conn, editor, str(cli.workspace))
            await talk.begin()
            sessions.append(talk.session)
            asked = asyncio.create_task(talk.ask("Write work.txt"))
            await editor.works.wait()
            process.kill()
            await asyncio.wait({asked}, timeout=PATIENCE)
            asked.cancel()

    async def again(editor: Connected) -> None:
        await editor.conn.load_session(cwd=editor.cwd, session_id=sessions[0], mcp_servers=[])
        assert "Write work.txt" in "".join(update.content.text for update in editor.editor.of("user_message_chunk"))
        assert "**verified**" in editor.editor.words
        with pytest.raises(RequestError, match="There is no session"):
            await editor.conn.load_session(cwd=editor.cwd, session_id="../../x", mcp_servers=[])
        with pytest.raises(RequestError, match="another folder"):
            await editor.conn.load_session(cwd=str(cli.home), session_id=sessions[0], mcp_servers=[])

    asyncio.run(asyncio.wait_for(begin(), 2 * PATIENCE))
    until(lambda: cli.shown()["outcome"] == "verified")
    played(cli, again)


def test_modes_are_those_of_loops_and_a_budget_that_is_used_up_is_said(cli: CommandLine) -> None:
    cli.project({"say": "not yet"}, max_iterations=1, checks=[CHECK])

    async def play(editor: Connected) -> None:
        made = await editor.conn.new_session(cwd=editor.cwd, mcp_servers=[])
        editor.session = made.session_id
        assert made.modes.current_mode_id == "ralph"
        assert {"ralph", "supervise", "phases"} <= {mode.id for mode in made.modes.available_modes}
        for wrong in ("nonsense", "antigravity:fly"):
            with pytest.raises(RequestError) as refused:
                await editor.conn.set_session_mode(session_id=editor.session, mode_id=wrong)
            assert wrong in str(refused.value.data)
        await editor.conn.set_session_mode(session_id=editor.session, mode_id="instruct")
        await editor.conn.set_session_mode(session_id=editor.session, mode_id="ralph")
        assert await editor.ask("Write work.txt") == "max_turn_requests"
        assert "1/1 rounds" in editor.editor.words
        for wrong in ("relative", "/nowhere/at/all"):
            with pytest.raises(RequestError):
                await editor.conn.new_session(cwd=wrong, mcp_servers=[])
        with pytest.raises(RequestError):
            await editor.ask("  ")

    played(cli, play)


HOSTILE = (
    b"\xff\xfe not text\n",
    b"{\n",
    b"[]\n",
    b"[" * 50_000 + b"\n",
    b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}\n',
    b'{"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": 7}\n',
    b'{"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": {"sessionId": "x", "prompt": []}}\n',
    b'{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "../.."}}\n',
    b'{"jsonrpc": "2.0", "id": 4, "result": {}}\n',
    b'{"jsonrpc": "2.0", "id": {}, "result": {}}\n',
    b'{"jsonrpc": "2.0", "id": [1], "error": {}}\n',
    b'{"jsonrpc": "2.0", "id": 0, "error": "text"}\n',
    b'{"jsonrpc": "2.0", "id": [], "method": "initialize"}\n',
    b'{"jsonrpc": "2.0", "id": null, "method": 7}\n',
    b'{"a": "' + b"x" * 3_000_000 + b'"}\n',
)


def test_malformed_huge_and_out_of_order_messages_end_nothing(cli: CommandLine) -> None:
    begin = b'{"jsonrpc": "2.0", "id": 99, "method": "initialize", "params": {"protocolVersion": 1}}\n'
    ended = subprocess.run(
        COMMAND,
        input=b"".join(HOSTILE) + begin,
        env=cli.environment,
        cwd=cli.workspace,
        capture_output=True,
        timeout=PATIENCE,
    )
    messages = [json.loads(line) for line in ended.stdout.splitlines()]
    assert any(message.get("id") == 99 and "result" in message for message in messages), ended.stderr[-2000:]
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == 0
    assert not cli.loops
