"""The parts of the dashboard that need no browser: windows of output, rounds, forms, diffs, languages, the list."""

from __future__ import annotations

import ast
import json
import re
import string
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.support.store_conformance import loop_created

from untildone import modes, settings
from untildone.core.answers.rounds import parse
from untildone.core.apply import apply
from untildone.core.budget import Gauge
from untildone.core.errors import UsageError
from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    LoopCreated,
    MessageSent,
    PauseRequested,
    Rewound,
    StopRequested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.history.position import Position
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    FailureKind,
    GateResult,
    LoopSettings,
    Outcome,
    Role,
    SessionUse,
    Spend,
    Status,
    SubtaskStatus,
    Urgency,
    Usage,
)
from untildone.core.values.value import replace
from untildone.faces.dashboard.translations.chinese import CHINESE
from untildone.faces.dashboard.translations.texts import Language, Texts, texts_for
from untildone.faces.web.fields import Field, Kind, fields, grouped, parsed, shown
from untildone.faces.web.panels.gates import why_failed
from untildone.faces.web.panels.head import reason_of
from untildone.faces.web.policy import policy
from untildone.operations.loop_table import LoopTable
from untildone.operations.showing import output_window
from untildone.operations.showing.listing import TablePages
from untildone.operations.showing.output_window import Output, Window
from untildone.operations.showing.patches import patches
from untildone.operations.showing.timeline import Timeline, extended, interrupted
from untildone.operations.showing.values import ListQuery
from untildone.store.files import FileStore
from untildone.store.spool import FileSpool

SCRIPTED = AgentChoice("scripted", "scripted")
WEB = Path(output_window.__file__).parent


def said(text: str) -> bytes:
    return json.dumps({"event": "say", "text": text}).encode() + b"\n"


def tool(name: str, **more: Any) -> bytes:
    return json.dumps({"event": "tool", "tool": name, "summary": f"{name} it", **more}).encode() + b"\n"


def texts_in(window: Window) -> str:
    return "\n".join(block.text for block in window.blocks)


class TestOutput:
    def test_texts_thoughts_tools_and_notices_become_blocks(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        ended = (
            json.dumps({"event": "tool_end", "tool": "run", "ok": False, "summary": "no such file"}).encode() + b"\n"
        )
        path.write_bytes(
            said("One.") + said("Two.") + tool("run") + ended + tool("write") + b"not JSON\n" + said("Three.")
        )
        blocks = Output(FileSpool(lambda: path), SCRIPTED).tail().blocks
        assert [block.kind.value for block in blocks] == ["said", "tools", "notice", "said"]
        assert blocks[0].text == "One.\nTwo."
        assert [(call.tool, call.ok, call.result) for call in blocks[1].calls] == [
            ("run", False, "no such file"),
            ("write", None, ""),
        ]

    def test_no_file_is_an_empty_window(self, tmp_path: Path) -> None:
        window = Output(FileSpool(lambda: tmp_path / "none"), SCRIPTED).tail()
        assert (window.blocks, window.is_first, window.is_last) == ((), True, True)

    def test_going_back_and_on_shows_every_line(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        parts = [
            b"".join(said(f"<{each}> " + "x" * 400) + tool("run") for each in range(start, start + 500))
            for start in (0, 500)
        ]
        path.write_bytes(b"".join(parts))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        window, seen = output.tail(), ""
        while True:
            seen = texts_in(window) + seen
            assert window.end - window.start <= output_window.WINDOW * 2
            if window.is_first:
                break
            window = output.before(window)
        assert [int(found) for found in re.findall(r"<(\d+)>", seen)] == list(range(1000))
        on = texts_in(window)
        while not window.is_last:
            window = output.after(window)
            on += texts_in(window)
        assert [int(found) for found in re.findall(r"<(\d+)>", on)] == list(range(1000))

    def test_it_is_followed_line_by_line(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(said("One."))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        first = output.tail()
        assert output.followed(first) is first
        half = said("Two.")
        with path.open("ab") as file:
            file.write(half[:10])
        assert output.followed(first) is first
        with path.open("ab") as file:
            file.write(half[10:])
        assert texts_in(output.followed(first)) == "One.\nTwo."

    def test_a_last_line_without_an_end_counts_once_the_turn_is_over(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(b"begun\ndone")
        output = Output(FileSpool(lambda: path), AgentChoice("command", "command", command="cat"))
        window = output.tail()
        assert texts_in(window) == "begun"
        output.is_complete = True
        assert texts_in(output.followed(window)) == "begun\ndone"

    @pytest.mark.parametrize("size", [output_window.WINDOW * 2, output_window.LONGEST_LINE + output_window.WINDOW])
    def test_a_line_longer_than_a_window_does_not_bar_the_way(self, tmp_path: Path, size: int) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(said("Before.") + said("x" * size) + said("After."))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        window = output.tail()
        assert "After." in texts_in(window)
        for _ in range(10):
            if "Before." in texts_in(window):
                break
            window = output.before(window)
        assert "Before." in texts_in(window)

    def test_a_flood_moves_the_window_to_the_end(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(said("One."))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        window = output.tail()
        with path.open("ab") as file:
            file.write(b"".join(said(f"{each} " + "x" * 1000) for each in range(1000)))
        window = output.followed(window)
        assert window.start > 0
        assert len(window.blocks) <= output_window.MOST_BLOCKS


def journal(*events: Event) -> tuple[Entry, ...]:
    return tuple(Entry(number, float(number), event) for number, event in enumerate(events, 1))


def started(iteration: int, role: Role = Role.WORKER) -> TurnStarted:
    return TurnStarted(role, iteration, 1, "claude", SessionUse.NEW, "Do it")


def ended(iteration: int, tree: str, role: Role = Role.WORKER, cost: float = 0.5) -> TurnEnded:
    changes = Changes(tree, tree=tree, files=1) if role is Role.WORKER else None
    return TurnEnded(role, iteration, Answer("Done.", usage=Usage(cost, 10)), 2.0, changes)


class TestTimeline:
    def test_rounds_have_what_happened_in_them(self) -> None:
        gate = GateResult("check", "true", passed=True)
        entries = journal(
            WorkspaceSeen(Changes("a", tree="a")),
            started(1),
            MessageSent("also write docs"),
            ended(1, "b"),
            AnswerRead(claimed=False),
            started(2),
            ended(2, "c"),
            AnswerRead(claimed=True),
            started(2, Role.SUPERVISOR),
            ended(2, "", Role.SUPERVISOR, cost=0.25),
            GatesRan((gate,)),
            started(3),
        )
        timeline = extended(Timeline(), entries)
        one, two, three = timeline.rounds
        assert (one.before, one.after, one.messages, one.claimed) == ("a", "b", ("also write docs",), False)
        assert (two.before, two.after, two.gates, two.usage) == ("b", "c", (gate,), Usage(0.75, 20))
        assert [each.role for each in two.consultations] == [Role.SUPERVISOR]
        assert (three.is_going, three.seconds) == (True, None)
        assert extended(timeline, entries) == timeline

    @pytest.mark.parametrize(
        ("orders", "words"),
        [
            ((), "interrupted by a person"),
            ((PauseRequested(Urgency.NOW),), "interrupted by pause"),
            ((PauseRequested(), StopRequested(Urgency.NOW)), "interrupted by stop"),
        ],
    )
    def test_an_interrupted_round_says_by_what(self, orders: tuple[Event, ...], words: str) -> None:
        cut = TurnInterrupted(Role.WORKER, 1, Interruption.CONTROL, 1.0)
        timeline = extended(Timeline(), journal(PauseRequested(), started(1), *orders, cut))
        assert timeline.last is not None
        assert (timeline.last.is_going, timeline.last.trouble) == (False, words)

    def test_a_rewind_can_be_undone_until_an_agent_works_again(self) -> None:
        back, forth = Rewound(1, Position()), Rewound(1, Position(), undone=True)
        for events, undoable in (((back,), True), ((back, forth), False), ((back, started(3)), False)):
            timeline = extended(Timeline(), journal(started(1), started(2), *events))
            assert timeline.is_taken_back is undoable


class TestFields:
    def test_every_setting_has_a_field_in_a_group(self) -> None:
        found = fields(settings.every(), {})
        assert {field.name for field in found} == set(settings.every())
        assert {field.name for _, members in grouped(found) for field in members} == {field.name for field in found}
        assert "More" not in {group.title for group, _ in grouped(found)}

    def test_kinds_come_from_the_declarations(self) -> None:
        kinds = {field.name: field.kind for field in fields(settings.every(), {"mode": modes.names()})}
        wanted = {
            "mode": Kind.CHOICE,
            "route": Kind.CHOICE,
            "context": Kind.CHOICE,
            "permissions": Kind.CHOICE,
            "loop_enabled": Kind.SWITCH,
            "max_iterations": Kind.ROUNDS,
            "max_tokens": Kind.WHOLE,
            "max_cost": Kind.NUMBER,
            "checks": Kind.LINES,
            "promise": Kind.WORDS,
            "notify_secret": Kind.SECRET,
            "profiles": Kind.PROFILES,
        }
        assert {name: kinds[name] for name in wanted} == wanted
        inner = {field.name: field.kind for field in fields(settings.PROFILE_SETTINGS, {})}
        assert (inner["env"], inner["loop_enabled"]) == (Kind.PAIRS, Kind.SWITCH)

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            (Kind.LINES, ["pytest -q", "ruff check"]),
            (Kind.PAIRS, {"KEY": "a=b", "OTHER": "c"}),
            (Kind.SWITCH, True),
            (Kind.WORDS, "words"),
            (Kind.WHOLE, 3),
            (Kind.NUMBER, 2.5),
        ],
    )
    def test_a_value_survives_being_shown(self, kind: Kind, value: object) -> None:
        field = Field("name", kind, "Name", "")
        assert parsed(field, shown(field, value)) == value

    @pytest.mark.parametrize(("kind", "content"), [(Kind.PAIRS, "no sign"), (Kind.WHOLE, 2.5)])
    def test_what_cannot_be_is_refused(self, kind: Kind, content: object) -> None:
        with pytest.raises(UsageError, match="Name"):
            parsed(Field("name", kind, "Name", ""), content)


class TestPatches:
    DIFF = (
        "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n--- two\n+three\n"
        "diff --git a/b c.txt b/b c.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b c.txt\n@@ -0,0 +1 @@\n+four\n"
    )

    def test_a_diff_is_taken_apart_into_files(self) -> None:
        one, two = patches(self.DIFF)
        assert (one.path, one.added, one.removed) == ("a.py", 1, 1)
        assert one.lines == ("@@ -1,2 +1,2 @@", " one", "--- two", "+three")
        assert (two.path, two.lines[0]) == ("b c.txt", "new file mode 100644")

    def test_no_diff_is_no_file(self) -> None:
        assert patches("") == ()


class TestTexts:
    @pytest.mark.parametrize(
        ("wish", "language"),
        [
            ("", Language.ENGLISH),
            ("de-DE,de;q=0.9", Language.ENGLISH),
            ("zh-CN,zh;q=0.9,en;q=0.8", Language.SIMPLIFIED),
            ("zh", Language.SIMPLIFIED),
            ("zh-TW", Language.TRADITIONAL),
            ("zh-Hant-HK", Language.TRADITIONAL),
            ("en;q=0.5, zh-HK;q=0.7", Language.TRADITIONAL),
            ("fr, en-GB, zh", Language.ENGLISH),
            ("zh;q=nonsense, ;;,", Language.SIMPLIFIED),
        ],
    )
    def test_the_first_language_that_we_have_is_taken(self, wish: str, language: Language) -> None:
        assert texts_for(wish).language is language

    def test_why_the_budget_is_used_up_is_told_in_the_readers_language(self) -> None:
        for limit, word in (
            (Limit.ITERATIONS, "轮"),
            (Limit.MINUTES, "分钟"),
            (Limit.COST, "美元"),
            (Limit.TOKENS, "token"),
        ):
            english = Gauge(limit, 1200.5, 1000).used_up_sentence()
            chinese = Texts(Language.SIMPLIFIED).sentence(english)
            assert (word in chinese, "1,200.5" in chinese, "used" in chinese) == (True, True, False)
            assert Texts().sentence(english) == english

    def test_a_reason_from_the_journal_is_translated_if_the_loops_numbers_make_the_same_sentence(self) -> None:
        loop = replace(apply(None, Entry(1, 1.0, loop_created("loop-1"))), budget=Budget(iterations=3))
        loop = replace(loop, spend=Spend(iterations=3))
        used_up = replace(loop, reason="No remaining rounds. Stopping. 3 of 3 rounds used.")
        assert Texts(Language.SIMPLIFIED).sentence(reason_of(used_up)) == "没有剩余轮次，已停止。已用 3 / 3 轮。"
        other = replace(loop, reason="The agent is missing.")
        assert Texts(Language.SIMPLIFIED).sentence(reason_of(other)) == "The agent is missing."

    @pytest.mark.parametrize(
        ("exit_code", "reason", "chinese"),
        [
            (2, "exit code 2", "退出码 2"),
            (0, "ran no test", "没有运行任何测试"),
            (None, "the supervisor asks for more", "监督者要求继续完善"),
            (None, "timed out after 7 s", "timed out after 7 s"),
        ],
    )
    def test_why_a_gate_failed_is_translated(self, exit_code: int | None, reason: str, chinese: str) -> None:
        result = GateResult("check", "make", passed=False, exit_code=exit_code, reason=reason)
        assert Texts(Language.SIMPLIFIED).sentence(why_failed(result)) == chinese

    @pytest.mark.parametrize(
        ("message", "left", "chinese"),
        [
            ("[r+5] go", 4, "已增加 5 轮。剩余：9"),
            ("[r=3] go", 4, "剩余轮次已设为：3"),
            ("[r+5] go", None, "未设置限制，[r+5] 不起作用；[r=n] 可设置限制"),
            ("[r=3]", 4, "解析轮次控制后没有剩余指令"),
            ("go [r+5]", 4, "[r+n] 之类的轮次控制须写在消息开头；此处按普通文字处理"),
            (
                "[r+x] go",
                4,
                "[r+x] 按普通文字处理：轮次控制须增加或设定 0 到 1,000,000 的整数，不含空格，如 [r+5] 或 [r=5]",
            ),
        ],
    )
    def test_notices_about_rounds_are_translated(self, message: str, left: int | None, chinese: str) -> None:
        assert Texts(Language.SIMPLIFIED).sentence(parse(message, left).notices[-1]) == chinese

    def test_everything_that_is_said_has_its_translations(self) -> None:
        missing = sorted(set(said_by_the_pages()) - set(CHINESE))
        assert missing == []

    def test_translations_have_the_same_places_for_values(self) -> None:
        for english, others in CHINESE.items():
            for other in others:
                assert places(other) == places(english), english


class TestPolicy:
    PAGE = b"<script>one()</script><script type='importmap'>\n{}\n</script><script src='/a.js' defer></script>"

    def test_a_page_may_run_its_own_scripts_and_no_others(self) -> None:
        rules = dict(rule.split(" ", 1) for rule in policy(self.PAGE).split("; "))
        hashes = [b64encode(sha256(script).digest()).decode() for script in (b"one()", b"\n{}\n")]
        assert rules["script-src"].split() == ["'self'", "'unsafe-eval'", *(f"'sha256-{each}'" for each in hashes)]
        assert [rules[name] for name in ("default-src", "frame-ancestors", "base-uri")] == ["'none'"] * 3
        assert rules["connect-src"] == "'self'"


def places(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def said_by_the_pages() -> Iterator[str]:
    """Whatever is handed to the texts as a literal, and what comes from tables elsewhere."""
    for path in WEB.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in ("t", "_t"):
                    yield str(node.args[0].value)
    for each in (*fields(settings.every(), {}), *fields(settings.PROFILE_SETTINGS, {})):
        yield each.title
        yield each.hint
    yield from (group.title for group, _ in grouped(fields(settings.every(), {})))
    yield from (word for outcome in Outcome for word in (outcome.word, outcome.sentence))
    yield from (each.value for kind in (Status, SubtaskStatus, Role) for each in kind)
    yield from (kind.value.replace("_", " ") for kind in FailureKind)
    yield from (interrupted(reason, order) for reason in Interruption for order in ("", "pause", "stop"))


class TestListing:
    @pytest.fixture
    def pages(self, tmp_path: Path) -> TablePages:
        store = FileStore(tmp_path / ".loop")
        chosen = LoopSettings("ralph", SCRIPTED, str(tmp_path))
        for number in range(7):
            store.create(LoopCreated(f"loop-{number}", f"Job {number}", "A job", chosen, Budget(iterations=5)))
        return TablePages(LoopTable({"a-project": store}))

    def test_a_page_of_those_that_fit(self, pages: TablePages) -> None:
        listing = pages.listing(ListQuery(page=2, size=3))
        assert [row.loop_id for row in listing.rows] == ["loop-3", "loop-2", "loop-1"]
        assert (listing.total, listing.pages, listing.counts) == (7, 3, {"created": 7})

    def test_a_page_too_far_is_the_last(self, pages: TablePages) -> None:
        listing = pages.listing(ListQuery(page=99, size=3))
        assert (listing.page, [row.loop_id for row in listing.rows]) == (3, ["loop-0"])

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (ListQuery(search="JOB 5"), ["loop-5"]),
            (ListQuery(search="job scripted loop-6"), ["loop-6"]),
            (ListQuery(search="no such"), []),
            (ListQuery(status="running"), []),
            (ListQuery(ended_only=True), []),
        ],
    )
    def test_search_and_filter(self, pages: TablePages, wanted: ListQuery, found: list[str]) -> None:
        assert [row.loop_id for row in pages.listing(wanted).rows] == found
