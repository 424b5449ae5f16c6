"""What readers report of usage while a run goes on, and which dollars they compute."""

from __future__ import annotations

import json
from typing import Any

import pytest

from untildone import agents
from untildone.core.model import Usage
from untildone.core.plugins.agent_io import Request, Used
from untildone.core.prices import Price, Prices

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


def test_copilot_is_priced_if_every_model_of_the_session_has_a_price() -> None:
    big = {"usage": {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 300}}
    _, answer = reported("copilot", {"modelMetrics": {"big": big}})
    assert answer.session_total.tokens == 1050
    assert answer.session_total.cost_usd == pytest.approx((700 * 10 + 50 * 50 + 300 * 1) / 1e6)
    _, answer = reported("copilot", {"modelMetrics": {"big": big, "unknown": big}})
    assert (answer.session_total, answer.priced) == (Usage(tokens=2100), "")
