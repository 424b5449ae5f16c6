"""The languages of the dashboard: every text has its translations, with the same places for values."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.store_conformance import loop_created

from untildone import settings
from untildone.core.answers.rounds import parse
from untildone.core.apply import apply
from untildone.core.budget import Gauge
from untildone.core.events import (
    Entry,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.model import (
    Budget,
    FailureKind,
    GateResult,
    Outcome,
    Role,
    Spend,
    Status,
    SubtaskStatus,
)
from untildone.core.values.value import replace
from untildone.faces import web
from untildone.faces.web.forms.fields import fields
from untildone.faces.web.loop.head import reason_of, why_failed
from untildone.faces.web.translations.chinese import CHINESE
from untildone.faces.web.translations.texts import Language, Texts, texts_for
from untildone.operations.showing.timeline import interrupted

DASHBOARD = Path(web.__file__).parent


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


def places(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def said_by_the_pages() -> Iterator[str]:
    """Whatever is handed to the texts as a literal, and what comes from tables elsewhere."""
    for path in DASHBOARD.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in ("t", "_t"):
                    yield str(node.args[0].value)
    for path in (DASHBOARD / "templates").rglob("*.html"):
        for double, single in re.findall(r"""(?<![\w.])t\((?:"([^"]+)"|'([^']+)')""", path.read_text()):
            yield double or single
    for each in (*fields(settings.every(), {}), *fields(settings.PROFILE_SETTINGS, {})):
        yield each.title
        yield each.hint
    yield from (field.group.title for field in fields(settings.every(), {}))
    yield from (word for outcome in Outcome for word in (outcome.word, outcome.sentence))
    yield from (each.value for kind in (Status, SubtaskStatus, Role) for each in kind)
    yield from (kind.value.replace("_", " ") for kind in FailureKind)
    yield from (interrupted(reason, order) for reason in Interruption for order in ("", "pause", "stop"))
