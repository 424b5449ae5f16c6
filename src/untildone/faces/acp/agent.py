"""The agent that an editor talks to. Each prompt begins a loop in the background, or goes on with the session's last one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from acp import PROTOCOL_VERSION, Client, RequestError, helpers
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EmbeddedResourceContentBlock,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    ResourceContentBlock,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    StopReason,
    TextContentBlock,
    TextResourceContents,
    ToolCallUpdate,
)
from pydantic import ValidationError

import untildone
from untildone import settings
from untildone.core.errors import BudgetUsedUp, UsageError
from untildone.core.values.value import replace
from untildone.faces.acp import questions
from untildone.faces.acp.live import LiveUpdates
from untildone.faces.acp.questions import Approve, Extend, Question, Say
from untildone.faces.acp.updates import Updates
from untildone.operations import output
from untildone.operations.sessions import editor_sessions
from untildone.operations.sessions.editor_sessions import EditorSession

R = TypeVar("R")
LOOK_EVERY = 0.1
LONGEST_TITLE = 200
"""Characters of an earlier task that a new loop hears of."""


class UntilDone:
    """One connection to an editor. Loops go on when it ends; `session/load` finds them again."""

    def __init__(self) -> None:
        self._editor: Client | None = None
        self._cancelled: set[str] = set()
        """Sessions whose prompt is to be cancelled."""
        self._beginning: dict[str, asyncio.Lock] = {}
        """By session: only one prompt at a time begins a loop, so that the next one is a message to that loop."""
        self._has_forms = False
        """Whether the editor can ask its person for words, in a form."""

    def on_connect(self, conn: Client) -> None:
        self._editor = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_kwargs: Any
    ) -> InitializeResponse:
        offered = client_capabilities.elicitation if client_capabilities else None
        self._has_forms = offered is not None and offered.form is not None
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True, prompt_capabilities=PromptCapabilities(embedded_context=True)
            ),
            agent_info=Implementation(name="untildone", title="untildone", version=version("untildone")),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_kwargs: Any) -> None:
        raise RequestError.invalid_params({"methodId": "untildone needs no login; its agents have their own"})

    async def new_session(self, cwd: str, **_kwargs: Any) -> NewSessionResponse:
        folder = _folder(cwd)
        session = await _in_thread(lambda: editor_sessions.begin(folder, settings.load(folder, {}).mode))
        return NewSessionResponse(session_id=session.session_id, modes=_modes(session))

    async def load_session(self, cwd: str, session_id: str, **_kwargs: Any) -> LoadSessionResponse:
        session = await _in_thread(lambda: _of_folder(editor_sessions.find(session_id), _folder(cwd)))
        for loop_id in session.loops:
            await self._replay(session, loop_id)
        return LoadSessionResponse(modes=_modes(session))

    async def set_session_mode(self, session_id: str, mode_id: str, **_kwargs: Any) -> SetSessionModeResponse:
        await _in_thread(lambda: editor_sessions.find(session_id))
        if mode_id not in output.mode_names():
            raise RequestError.invalid_params({"modeId": f"there is no mode {mode_id[:40]!r}"})
        async with self._beginning.setdefault(session_id, asyncio.Lock()):
            await _in_thread(lambda: editor_sessions.keep(replace(editor_sessions.find(session_id), mode=mode_id)))
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_kwargs: Any) -> PromptResponse:
        # Before anything is awaited: a cancel that comes next is one of this prompt.
        self._cancelled.discard(session_id)
        text = _text(prompt)
        if not text.strip():
            raise RequestError.invalid_params({"prompt": "there is no text"})
        await _in_thread(lambda: editor_sessions.find(session_id))
        try:
            async with self._beginning.setdefault(session_id, asyncio.Lock()):
                session, loop, known = await self._begin(session_id, text)
            if session_id in self._cancelled:  # while the loop began
                await self.cancel(session_id)
            rested = await self._until_rest(session, loop.loop_id, known)
            while await self._goes_on_with_answer(session, rested):
                rested = await self._until_rest(session, loop.loop_id, rested.seq)
        except untildone.UntilDoneError as error:
            raise _failure(error) from None
        return PromptResponse(stop_reason=self._reason(session_id, rested))

    async def cancel(self, session_id: str, **_kwargs: Any) -> None:
        """Pause the loop of the session, at once."""
        # Before anything is awaited: a prompt that begins a loop meanwhile looks here afterwards.
        self._cancelled.add(session_id)
        try:
            session = await _in_thread(lambda: editor_sessions.find(session_id))
        except RequestError:
            self._cancelled.discard(session_id)
            raise
        if session.loops:
            try:
                await untildone.pause(session.loops[-1], now=True, folder=session.folder)
            except untildone.UntilDoneError:
                return  # it rests already

    async def _begin(self, session_id: str, text: str) -> tuple[EditorSession, untildone.Loop, int]:
        """The session, the loop that works on a prompt, and the last of its entries that the editor knows."""
        session = await _in_thread(lambda: editor_sessions.find(session_id))
        last = await untildone.show(session.loops[-1], folder=session.folder) if session.loops else None
        if last is not None and not last.status.ended:
            heard = await untildone.say(last, text, folder=session.folder)
            if not heard.goes_on and heard.loop.status is untildone.Status.PAUSED:
                with suppress(BudgetUsedUp):  # the editor is told that it rests for that
                    await untildone.resume(last, folder=session.folder)
            return session, last, last.seq
        loop = await untildone.create(_with_earlier(text, last), folder=session.folder, mode=session.mode)
        await _in_thread(lambda: editor_sessions.keep(session.with_loop(loop.loop_id)))
        await untildone.start(loop, folder=session.folder)
        return session, loop, 0

    async def _until_rest(self, session: EditorSession, loop_id: str, known: int) -> untildone.Loop:
        await self._follow(session.session_id, loop_id, known)
        return await untildone.show(loop_id, folder=session.folder)

    async def _goes_on_with_answer(self, session: EditorSession, loop: untildone.Loop) -> bool:
        """Ask the person what the loop asks, as the editor can. False: they leave it as it is, or answer with their next message."""
        question = questions.of(loop)
        if question is None or session.session_id in self._cancelled or self._editor is None:
            return False
        asked = asyncio.create_task(self._asked(self._editor, session.session_id, loop, question))
        while not (await asyncio.wait({asked}, timeout=LOOK_EVERY))[0]:
            if session.session_id in self._cancelled:
                asked.cancel()
        chosen = None if asked.cancelled() else asked.result()
        now = await untildone.show(loop.loop_id, folder=session.folder)
        if now.seq != loop.seq:
            return now.status is untildone.Status.RUNNING  # it was answered elsewhere
        if chosen is None:
            return False
        await _carry_out(chosen, loop, session.folder)
        return True

    async def _asked(
        self, editor: Client, session_id: str, loop: untildone.Loop, question: Question
    ) -> Approve | Extend | Say | None:
        """What the person chose. None: nothing, or the editor cannot ask."""
        try:
            if question.options:
                return await _chosen(editor, session_id, f"{loop.loop_id}-{loop.seq}-question", question)
            return await _worded(editor, session_id, question) if self._has_forms else None
        except (RequestError, ValidationError):
            return None

    async def _follow(self, session_id: str, loop_id: str, known: int) -> None:
        """Send what happens in a loop until it rests: entries of its journal, and what its agents print."""
        folder = editor_sessions.find(session_id).folder
        live = await _in_thread(lambda: LiveUpdates(Path(folder), loop_id, known))
        try:
            while not await _in_thread(lambda: live.is_over):
                await self._send_fresh(session_id, live)
                await asyncio.sleep(LOOK_EVERY)
            await self._send_fresh(session_id, live)
        finally:
            await _in_thread(live.close)

    async def _send_fresh(self, session_id: str, live: LiveUpdates) -> None:
        parts = live.fresh()
        while (updates := await _in_thread(lambda: next(parts, None))) is not None:
            for update in updates:
                await self._send(session_id, update)

    async def _replay(self, session: EditorSession, loop_id: str) -> None:
        """Show the editor what happened in a loop, up to now."""
        try:
            loop = await untildone.show(loop_id, folder=session.folder)
        except untildone.UntilDoneError:
            return  # it was deleted
        for asked in loop.asked:
            await self._send(session.session_id, helpers.update_user_message_text(f"{asked}\n"))
        updates = Updates()
        for entry in await _in_thread(lambda: _entries(loop, session.folder)):
            for update in updates.of(entry):
                await self._send(session.session_id, update)

    async def _send(self, session_id: str, update: Any) -> None:
        assert self._editor is not None
        await self._editor.session_update(session_id=session_id, update=update)

    def _reason(self, session_id: str, loop: untildone.Loop) -> StopReason:
        if session_id in self._cancelled:
            return "cancelled"
        return "max_turn_requests" if loop.outcome is untildone.Outcome.BUDGET else "end_turn"


async def _chosen(editor: Client, session_id: str, call: str, question: Question) -> Approve | Extend | Say | None:
    """The option that the person takes, asked as a permission."""
    options = [
        PermissionOption(option_id=str(number), name=each.name, kind="allow_once" if each.does else "reject_once")
        for number, each in enumerate(question.options)
    ]
    tool_call = ToolCallUpdate(tool_call_id=call, title=question.text, kind="other", status="pending")
    answer = await editor.request_permission(session_id=session_id, tool_call=tool_call, options=options)
    taken = getattr(answer.outcome, "option_id", "")
    return next((each.does for number, each in enumerate(question.options) if str(number) == taken), None)


async def _worded(editor: Client, session_id: str, question: Question) -> Say | None:
    """What the person writes into a form."""
    field = ElicitationStringPropertySchema(type="string", title="Answer")
    schema = ElicitationSchema(properties={"answer": field}, required=["answer"])
    mode = ElicitationFormSessionMode(session_id=session_id, requested_schema=schema)
    answer = await editor.create_elicitation(message=question.text, mode=mode)
    words = (getattr(answer, "content", None) or {}).get("answer")
    return Say(words) if isinstance(words, str) and words.strip() else None


async def _carry_out(chosen: Approve | Extend | Say, loop: untildone.Loop, folder: str) -> None:
    """Do what the person chose, and let the loop go on."""
    goes_on = False
    match chosen:
        case Approve(paths=paths):
            await untildone.approve(loop, *paths, folder=folder)
        case Extend(limit=limit, amount=amount):
            await untildone.budget(loop, folder=folder, **{limit: f"+{amount:g}"})
        case Say(text=text):
            goes_on = (await untildone.say(loop, text, folder=folder)).goes_on
    if not goes_on:
        await untildone.resume(loop, folder=folder)


async def _in_thread(call: Callable[[], R]) -> R:
    """The result of a function that runs in a thread, with errors as an editor gets them."""
    try:
        return await asyncio.to_thread(call)
    except untildone.UntilDoneError as error:
        raise _failure(error) from None


def _failure(error: untildone.UntilDoneError) -> RequestError:
    hint = f" hint: {error.hint}" if error.hint else ""
    return RequestError(-32602 if isinstance(error, UsageError) else -32603, f"{error.sentence}{hint}")


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise RequestError.invalid_params({"cwd": "it is not the absolute path of a folder"})
    return folder.resolve()


def _of_folder(session: EditorSession, folder: Path) -> EditorSession:
    if Path(session.folder) != folder:
        raise UsageError(f"Session {session.session_id} is of another folder.", f"open {session.folder}")
    return session


def _modes(session: EditorSession) -> SessionModeState:
    modes = [SessionMode(id=name, name=name) for name in output.mode_names()]
    return SessionModeState(current_mode_id=session.mode, available_modes=modes)


def _text(prompt: list[Any]) -> str:
    """The text of a prompt: what was typed, and the files that the person attached."""
    parts = []
    for block in prompt:
        match block:
            case TextContentBlock(text=text):
                parts.append(text)
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                parts.append(f"\n{uri}:\n{text}\n")
            case ResourceContentBlock(uri=uri):
                parts.append(f"\n{uri}\n")
            case _:
                raise RequestError.invalid_params({"prompt": "only text, resources and links can be sent"})
    return "".join(parts)


def _with_earlier(text: str, last: untildone.Loop | None) -> str:
    """The task of a new loop, with the task before it: the conversation goes on, and the agent of the loop is a new one."""
    if last is None or last.outcome is None:
        return text
    return f"{text}\n\n(Before this, in the same folder: {last.title[:LONGEST_TITLE]}: {last.outcome.word}.)"


def _entries(loop: untildone.Loop, folder: str) -> tuple[untildone.Entry, ...]:
    from untildone.operations import look, stores

    return tuple(look.follow(stores.open_store(Path(folder)), loop.loop_id, to_rest=False))
