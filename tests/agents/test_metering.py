"""What readers report of usage while a run goes on, and which dollars they compute."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from untildone import agents
from untildone.agents._tally import MOST_MESSAGES, Tally, usage_of
from untildone.core.model import Usage
from untildone.core.plugins.agent_io import Notice, Request, SideReader, Used
from untildone.core.prices import Price, Prices, TokenCount


def about(cost: float, tokens: int) -> Any:
    """A usage with dollars that may differ by rounding."""
    return Usage(cast(float, pytest.approx(cost)), tokens)


PRICES = Prices("2026-01-01", {"big": Price(10, 50, 1, 12)})


def usage(read: int, written: int, cached: int = 0, kept: int = 0) -> dict[str, int]:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return dict(zip(names, (read, written, cached, kept), strict=True))


def assistant(name: str, told: dict[str, int]) -> dict[str, Any]:
    block = {"type": "text", "text": "working"}
    return {"type": "assistant", "message": {"id": name, "model": "big", "content": [block], "usage": told}}


def partial(kind: str, by: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": kind, **fields}, "parent_tool_use_id": by}


def started(name: str, told: dict[str, int], by: str | None = None) -> dict[str, Any]:
    return partial("message_start", by, message={"id": name, "model": "big", "usage": told})


def reported(agent: str, *lines: dict[str, Any], model: str = "") -> tuple[list[Usage], Any]:
    reader = agents.find(agent).reader(Request(prompt="", model=model or None, prices=PRICES))
    events = [event for line in lines for event in reader.feed(json.dumps(line).encode())]
    return [event.usage for event in events if isinstance(event, Used)], reader.finish(-15, "", 0.0)


def test_claude_tells_of_each_message_as_it_ends_and_of_those_of_subagents_apart() -> None:
    used, answer = reported(
        "claude",
        started("m1", usage(100, 1, 1000, 10)),
        assistant("m1", usage(100, 1, 1000, 10)),
        assistant("m1", usage(100, 1, 1000, 10)),
        started("s1", usage(7, 1), by="tool-1"),
        partial("message_delta", usage={"output_tokens": 57}),
        partial("message_delta", by="tool-1", usage={"output_tokens": 3}),
    )
    assert [each.tokens for each in used] == [1111, 1119, 1175, 1177]
    dollars = (107 * 10 + 60 * 50 + 1000 * 1 + 10 * 12) / 1e6
    assert used[-1].cost_usd == pytest.approx(dollars)
    assert (answer.usage, answer.priced) == (used[-1], "2026-01-01")


def test_claude_is_asked_for_partial_messages_only_where_something_is_limited() -> None:
    flags = [agents.find("claude").invocation(Request(prompt="", meters=meters)).argv for meters in (True, False)]
    assert ["--include-partial-messages" in each for each in flags] == [True, False]


@pytest.mark.parametrize(("model", "cost"), [("big-2026", (700 * 10 + 50 * 50 + 300 * 1) / 1e6), ("", None)])
def test_codex_is_priced_by_its_model_and_what_a_cache_held_is_cheaper(model: str, cost: float | None) -> None:
    told = {"input_tokens": 1000, "cached_input_tokens": 300, "output_tokens": 50}
    _, answer = reported("codex", {"type": "turn.completed", "usage": told}, model=model)
    assert answer.session_total.tokens == 1050
    assert answer.session_total.cost_usd == (None if cost is None else pytest.approx(cost))
    assert answer.priced == ("2026-01-01" if cost else "")


def test_opencode_tells_of_each_step() -> None:
    step = {"type": "step_finish", "part": {"reason": "tool-calls", "cost": 0.5, "tokens": {"total": 1057}}}
    used, _ = reported("opencode", step, step)
    assert used == [Usage(0.5, 1057), Usage(1.0, 2114)]


@pytest.mark.parametrize(("model", "cost"), [("there/big", (700 * 10 + 50 * 50 + 300 * 1) / 1e6), ("", None)])
def test_opencode_says_0_of_a_model_whose_price_it_does_not_know(model: str, cost: float | None) -> None:
    tokens = {"total": 1050, "input": 700, "output": 40, "reasoning": 10, "cache": {"read": 300, "write": 0}}
    step = {"type": "step_finish", "part": {"reason": "stop", "cost": 0, "tokens": tokens}}
    used, answer = reported("opencode", step, model=model)
    assert used == [Usage(None, 1050) if cost is None else about(cost, 1050)]
    assert (answer.usage, answer.priced) == (used[0], "2026-01-01" if cost else "")


def test_copilot_is_priced_if_every_model_of_the_session_has_a_price() -> None:
    big = {"usage": {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 300}}
    _, answer = reported("copilot", {"modelMetrics": {"big": big}})
    assert answer.session_total.tokens == 1050
    assert answer.session_total.cost_usd == pytest.approx((700 * 10 + 50 * 50 + 300 * 1) / 1e6)
    _, answer = reported("copilot", {"modelMetrics": {"big": big, "unknown": big}})
    assert (answer.session_total, answer.priced) == (Usage(tokens=2100), "")


class TestAForgedReport:
    """What an agent adds to the reports of its program makes the sum greater, never less."""

    def test_a_model_without_a_price_does_not_take_the_dollars_of_the_others_away(self) -> None:
        message = assistant("m1", usage(100, 0))
        message["message"]["model"] = "invented"
        used, answer = reported("claude", assistant("m0", usage(1000, 0)), message)
        assert used[-1] == answer.usage == about(0.01, 1100)

    def test_nor_does_another_model_for_a_message_that_is_known(self) -> None:
        tally = Tally(Prices("2026-01-01", {"big": Price(10, 50, 1, 12), "small": Price(1, 1, 1, 1)}))
        assert tally.take("m1", "big", TokenCount(1000))
        for model in ("small", "invented", ""):
            assert not tally.take("m1", model, TokenCount(1000))
        assert tally.usage == about(0.01, 1000)

    def test_the_person_is_told_once_which_tokens_have_no_price(self) -> None:
        tally = Tally(PRICES)
        tally.add("invented", TokenCount(5))
        assert tally.not_all() == ()  # there are no dollars at all, and the loop says so
        tally.add("big", TokenCount(5))
        [_, notice] = tally.used()
        assert (notice, len(tally.used())) == (
            Notice("Price unknown: tokens of invented are not among the dollars."),
            1,
        )

    def test_a_model_that_costs_nothing_has_a_price(self) -> None:
        tally = Tally(Prices("2026-01-01", {"local": Price(0, 0, 0, 0)}))
        assert tally.take("m1", "local", TokenCount(100, 5))
        assert (tally.usage, tally.usage.unpriced, tally.priced) == (Usage(0.0, 105), 0, "2026-01-01")
        assert usage_of({"local": TokenCount(100, 5)}, PRICES) == Usage(None, 105)

    def test_names_that_are_made_up_fill_no_memory(self) -> None:
        tally = Tally(PRICES)
        for number in range(2 * MOST_MESSAGES):
            tally.take(f"{number}" + "x" * 1000, f"invented-{number}", TokenCount(1))
        tally.take("m1", "big", TokenCount(1000))
        assert tally.usage == about(0.01, 2 * MOST_MESSAGES + 1000)
        assert len(pickle.dumps(tally)) < 500 * MOST_MESSAGES

    @pytest.mark.parametrize("told", [{"total_cost_usd": 0}, {"model_usage_since_last_result": {}}])
    def test_a_result_that_says_less_than_the_messages_does_not_count(self, told: dict[str, Any]) -> None:
        result = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", **told}
        _, answer = reported("claude", assistant("m1", usage(1000, 100)), result)
        assert (answer.failure, answer.usage) == (None, about(0.015, 1100))


SIDES = Path(__file__).parent / "sides"
SESSION = "11111111-2222-4333-8444-555555555555"
CODEX_SESSION = "01a1ec17-bef5-74c3-8059-1cb0beeb4788"
RECORDED = [1350, 2701, 4053, 4173]
"""What each program had used after each of four messages, by the model's API."""
DOLLARS = (3103 * 10 + 170 * 50 + 900 * 1) / 1e6


def side_reader(agent: str) -> Any:
    prices = Prices("2026-01-01", {name: Price(10, 50, 1, 12) for name in ("scripted-model", "gemini-2.5-flash")})
    reader = agents.find(agent).reader(Request(prompt="", fresh_id=SESSION, meters=True, prices=prices))
    assert isinstance(reader, SideReader)
    return reader


def fed(reader: Any, lines: Iterable[bytes]) -> list[int | None]:
    events = [event for line in lines for event in reader.feed_side(line) or ()]
    return [event.usage.tokens for event in events if isinstance(event, Used)]


@pytest.mark.parametrize("name", ["codex.log", "copilot.jsonl", "gemini.jsonl"])
def test_what_a_program_writes_beside_its_output_is_counted_message_by_message(name: str) -> None:
    reader, lines = side_reader(Path(name).stem), (SIDES / name).read_bytes().splitlines()
    assert fed(reader, lines) == RECORDED
    answer = reader.finish(-15, "", 0.0)
    assert (answer.usage.tokens, answer.priced) == (RECORDED[-1], "2026-01-01")
    assert answer.usage.cost_usd == pytest.approx(DOLLARS)


def test_codex_counts_agents_of_its_own_but_not_into_the_total_of_the_session() -> None:
    reader, lines = side_reader("codex"), (SIDES / "codex.log").read_bytes().splitlines()
    reader.feed(json.dumps({"type": "thread.started", "thread_id": CODEX_SESSION}).encode())
    fed(reader, lines)
    assert reader.session_growth().tokens == RECORDED[-1]
    other = next(line for line in lines if b"input_token_count=1300" in line).replace(
        b"01a1ec17-bef5", b"01a1ec17-ffff"
    )
    assert fed(reader, [other]) == [RECORDED[-1] + 1350]
    assert reader.session_growth().tokens == RECORDED[-1]


def test_lines_of_its_log_are_no_errors_of_codex_and_others_are() -> None:
    reader = side_reader("codex")
    assert reader.feed_side(b'2026-11-18T00:39:01.6Z  INFO codex_otel.trace_safe: event.name="codex.user_prompt"') == ()
    assert reader.feed_side(b"2026-11-18T00:39:01.6Z ERROR codex_core: it broke") is None
    assert reader.reads_errors


@pytest.mark.parametrize(("told", "counted"), [(5000, 5000), (100, 4173)])
def test_gemini_counts_what_it_reports_at_its_end_or_its_recording_whichever_is_more(told: int, counted: int) -> None:
    reader = side_reader("gemini")
    fed(reader, (SIDES / "gemini.jsonl").read_bytes().splitlines())
    stats = {"total_tokens": told, "models": {"gemini-2.5-flash": {"total_tokens": told, "input_tokens": told}}}
    reader.feed(json.dumps({"type": "result", "status": "success", "stats": stats}).encode())
    assert reader.finish(0, "", 0.0).usage.tokens == counted


@pytest.mark.parametrize("agent", ["codex", "copilot", "gemini"])
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\x00",
        b"[" * 100_000,
        b'{"type":"gemini","tokens":',
        b'{"type":"gemini","id":7,"tokens":[1,2]}',
        b'{"type":"gemini","id":"m","tokens":{"input":-5,"total":1e400}}',
        b'{"type":"session.usage_record","data":7}',
        b'{"type":"session.usage_record","data":{"usage":{"inputTokens":"many","outputTokens":-1}}}',
        b'0 INFO codex_otel.trace_safe: event.name="codex.sse_event" event.kind=response.completed input_token_count=x',
        b'0 INFO codex_otel.trace_safe: event.name="codex.sse_event" event.kind=response.completed input_token_count='
        + b"9" * 5000,
    ],
)
def test_a_line_of_another_shape_counts_nothing(agent: str, line: bytes) -> None:
    reader = side_reader(agent)
    assert fed(reader, [line]) == []
    assert reader.finish(-15, "", 0.0).usage.tokens is None


@pytest.mark.parametrize(
    ("agent", "environment", "files"),
    [
        (
            "gemini",
            {"HOME": "/home/me"},
            (
                "/home/me/.gemini/tmp/*/chats/session-*-11111111.jsonl",
                f"/home/me/.gemini/tmp/*/chats/{SESSION}/*.jsonl",
            ),
        ),
        (
            "gemini",
            {"HOME": "/home/me", "GEMINI_CLI_HOME": "/else[1]"},
            (
                "/else[[]1]/.gemini/tmp/*/chats/session-*-11111111.jsonl",
                f"/else[[]1]/.gemini/tmp/*/chats/{SESSION}/*.jsonl",
            ),
        ),
        ("copilot", {"HOME": "/home/me"}, (f"/home/me/.copilot/session-state/{SESSION}/events.jsonl",)),
        ("copilot", {"COPILOT_HOME": "/else"}, (f"/else/session-state/{SESSION}/events.jsonl",)),
        ("codex", {"HOME": "/home/me"}, ()),
    ],
)
def test_where_a_program_writes_beside_its_output(
    agent: str, environment: dict[str, str], files: tuple[str, ...]
) -> None:
    assert side_reader(agent).side_files(environment) == files


@pytest.mark.parametrize("agent", ["copilot", "gemini"])
@pytest.mark.parametrize("session", ["../../../etc", "a/b", "*", ""])
def test_a_session_id_leads_to_no_other_folder(agent: str, session: str) -> None:
    reader = agents.find(agent).reader(Request(prompt="", fresh_id=session, meters=True))
    assert isinstance(reader, SideReader)
    assert all("etc" not in pattern and "a/b" not in pattern for pattern in reader.side_files({"HOME": "/home/me"}))


def test_codex_reports_only_where_something_is_limited_and_hides_that_from_its_commands() -> None:
    metered, plain = (agents.find("codex").invocation(Request(prompt="", meters=each)) for each in (True, False))
    assert metered.env == {"RUST_LOG": "error,codex_otel.trace_safe=info"}
    assert set(metered.argv) - set(plain.argv) == {"--config=shell_environment_policy.set.RUST_LOG=''"}
    assert not plain.env
