"""What the words of a failing program mean, and when a limit lifts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from untildone.core.answers.failures import LONGEST_MESSAGE, classify, hint, limit_in_answer, status_in
from untildone.core.answers.reset_times import reset_time
from untildone.core.model import FailureKind

NOW = datetime(2025, 11, 15, 12, 0, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0


def at(day: int, hour: int, minute: int = 0, month: int = 11) -> float:
    return datetime(2025, month, day, hour, minute, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("slow down", 429, FailureKind.LIMIT),
        ("API Error: Request rejected (429) · slow down", None, FailureKind.LIMIT),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, FailureKind.LIMIT),
        ("Claude AI usage limit reached|1763240400", None, FailureKind.LIMIT),
        ("You exceeded your current quota, please check your plan and billing details.", None, FailureKind.LIMIT),
        ("Your credit balance is too low to access the API", 400, FailureKind.LIMIT),
        ("API rate limit exceeded for user", 403, FailureKind.LIMIT),
        ("RESOURCE_EXHAUSTED", None, FailureKind.LIMIT),
        ("Invalid API key · Fix external API key", 401, FailureKind.AUTH),
        (
            "unexpected status 401 Unauthorized: Incorrect API key provided, url: http://127.0.0.1/v1",
            None,
            FailureKind.AUTH,
        ),
        (
            '[API Error: {"error":{"code":401,"message":"API key not valid","status":"UNAUTHENTICATED"}}]',
            None,
            FailureKind.AUTH,
        ),
        ("nope", 403, FailureKind.AUTH),
        ("Not logged in · Please run /login", None, FailureKind.AUTH),
        ("Error: No authentication information found.", None, FailureKind.AUTH),
        ("API Error: 500 oops. This is a server-side issue, usually temporary", None, FailureKind.OVERLOADED),
        ("Overloaded", 529, FailureKind.OVERLOADED),
        ("We’re currently experiencing high demand, which may cause temporary errors.", None, FailureKind.OVERLOADED),
        (
            "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
            None,
            FailureKind.OVERLOADED,
        ),
        ("API Error: Connection dropped (ECONNRESET). Check the gateway", None, FailureKind.OVERLOADED),
        (
            "stream disconnected before completion: stream closed before response.completed",
            None,
            FailureKind.OVERLOADED,
        ),
        ("[API Error: terminated]", None, FailureKind.OVERLOADED),
        ("Prompt is too long · the request is ~1200000 tokens (limit 1000000)", 400, FailureKind.CONTEXT_FULL),
        ("Request too large (max 32MB).", 413, FailureKind.CONTEXT_FULL),
        ("Codex ran out of room in the model's context window.", None, FailureKind.CONTEXT_FULL),
        ("This model's maximum context length is 128000 tokens", 400, FailureKind.CONTEXT_FULL),
        (
            "Claude Code is unable to respond to this request, which appears to violate our Usage Policy",
            None,
            FailureKind.REFUSED,
        ),
        ("Request timed out", None, FailureKind.TIMEOUT),
        ("API returned an empty or malformed response (HTTP 200)", None, FailureKind.MALFORMED),
        ("There's an issue with the selected model (x). It may not exist", 404, FailureKind.UNAVAILABLE),
        ("No conversation found with session ID: 0b5c", None, FailureKind.UNAVAILABLE),
        ("Error resuming session: No previous sessions found for this project.", None, FailureKind.UNAVAILABLE),
        ("sh: 1: nosuch: command not found", None, FailureKind.UNAVAILABLE),
        ("Segmentation fault", None, FailureKind.CRASHED),
        ("", None, FailureKind.CRASHED),
        ("bad thing", 400, FailureKind.CRASHED),
    ],
)
def test_words_and_status_tell_the_kind(text: str, status: int | None, kind: FailureKind) -> None:
    assert classify(text, status=status, now=NOW).kind is kind


@pytest.mark.parametrize(
    ("text", "reset"),
    [
        ("Claude AI usage limit reached|1763240400", 1763240400.0),
        ("limit reached|1763240400000", 1763240400.0),
        ('{"status":"rejected","resetsAt":1763240400}', 1763240400.0),
        ("rate limit; retry-after: 90", NOW + 90),
        ('"retry-after-ms": "1500"', NOW + 1.5),
        ('"retryDelay": "34s"', NOW + 34),
        ('{"error":{"type":"usage_limit_reached","resets_in_seconds":600}}', NOW + 600),
        ("Rate limit reached. Please try again in 5s", NOW + 5),
        ("Please try again in 1.5s. Visit https://example.org", NOW + 1.5),
        ("try again in 6ms", NOW + 0.006),
        ("You've hit your usage limit. Try again in 2 hours 5 minutes.", NOW + 2 * HOUR + 300),
        ("try again in 3 days 2 hours 1 minute", NOW + 74 * HOUR + 60),
        ("try again in 1 hour, 30 minutes", NOW + 1.5 * HOUR),
        ("Your quota will reset after 5h33m10s.", NOW + 5 * HOUR + 33 * 60 + 10),
        ("resets in 20m", NOW + 1200),
        ("wait 1 minute and 5 seconds", NOW + 65),
        ("5-hour limit reached ∙ resets 3pm", at(15, 15)),
        ("You've hit your limit · resets 3pm (UTC)", at(15, 15)),
        ("Your limit will reset at 3:30pm (Etc/UTC)", at(15, 15, 30)),
        ("resets 3pm (America/New_York)", at(15, 20)),
        ("resets 3pm (Nowhere/Land)", at(15, 15)),
        ("resets at 9am", at(16, 9)),
        ("resets 11:55am", at(15, 11, 55)),
        ("resets 12am", at(16, 0)),
        ("or try again at 10:30 PM.", at(15, 22, 30)),
        ("try again at 15:45", at(15, 15, 45)),
        ("try again at Nov 20th, 2025 10:30 PM.", at(20, 22, 30)),
        ("resets Nov 18, 6pm (PST)", at(19, 2)),
        ("resets Dec 1 at 6:00am", at(1, 6, month=12)),
        ("Limit resets at 2025-11-15T13:00:00Z", at(15, 13)),
        ("until 2025-11-15 15:00:00+02:00", at(15, 13)),
        ("Quota exceeded for metric: requests per day", at(16, 8)),
        ("You have exhausted your daily quota on this model.", at(16, 8)),
        ("You've used up your requests. Your limit will reset on December 1, 2025.", at(1, 0, month=12)),
        ("Quota resets Dec 1st", at(1, 0, month=12)),
        ("available again on 20 November 2025", at(20, 0)),
        ("Your allowance renews on 2025-12-01.", at(1, 0, month=12)),
        ("resets on Feb 31", None),
        ("limit reached", None),
        ("resets Feb 31, 6pm", None),
        ("resets 25pm", None),
        ("This request would exceed your account rate limit. Please try again later.", None),
        ("usage limit reached|1100000000", None),
        ("2025-11-14T10:00:00Z rate limit", None),
    ],
)
def test_the_reset_time_is_read(text: str, reset: float | None) -> None:
    assert reset_time(text, NOW) == (pytest.approx(reset, abs=0.001) if reset is not None else None)


@pytest.mark.parametrize(("hours", "begins"), [(-5, at(1, 5, month=12)), (8, at(1, 0, month=12))])
def test_a_day_without_a_time_begins_when_it_has_begun_here_and_in_utc(hours: int, begins: float) -> None:
    assert reset_time("resets on December 1", NOW, hours * HOUR) == begins


def test_a_clock_time_without_a_zone_is_local() -> None:
    assert reset_time("resets 3pm", NOW, utc_offset=2 * HOUR) == at(15, 13)
    assert reset_time("resets 3pm (UTC)", NOW, utc_offset=2 * HOUR) == at(15, 15)


def test_a_limit_carries_its_reset_time() -> None:
    failure = classify("You've hit your usage limit. Try again in 10 minutes.", status=429, now=NOW)
    assert (failure.kind, failure.reset_at) == (FailureKind.LIMIT, NOW + 600)


@pytest.mark.parametrize(
    "text",
    [
        "Claude AI usage limit reached|1763240400",
        "You've hit your limit · resets 3pm",
        "You’ve hit your session limit · resets 3pm (UTC)",
        "5-hour limit reached ∙ resets 3pm\n/upgrade to increase your usage limit.",
        "Weekly limit reached ∙ resets Nov 20, 6pm",
        "Claude usage limit reached. Your limit will reset at 3pm (UTC).",
        "You've hit your usage limit. Upgrade to Pro (https://example.org/pricing) or try again in 2 hours 5 minutes.",
        "You exceeded your current quota, please check your plan and billing details.",
        "Rate limit exceeded. Please try again in 20s.",
        "Too many requests, please wait",
        "Limit reached",
    ],
)
def test_an_answer_that_is_a_limit_message_is_recognised(text: str) -> None:
    failure = limit_in_answer(text, NOW)
    assert failure is not None
    assert failure.kind is FailureKind.LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I wrote the rate limiter. It answers 429 with retry-after when the limit is reached.",
        "Rate limit exceeded responses now return 429; all tests pass.",
        "Rate limit exceeded. I fixed the retry logic in client.py and all tests pass.",
        "You've hit your limit of three attempts: that is what the page says now.",
        "You've hit your limit · resets 3pm is the text that I translated. " * 8,
        "The message `usage limit reached|1763240400` is parsed in limits.py.",
        "usage limit reached <promise>COMPLETE</promise>",
        "```python\nraise RateLimit('limit reached')\n```",
        "Done: usage limit reached is now shown in red.",
        "Quota handling added. The quota exceeded page is done.",
    ],
)
def test_a_text_about_limits_is_not_a_limit(text: str) -> None:
    assert limit_in_answer(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("unexpected status 503", 503),
        ('{"statusCode":429}', 429),
        ("HTTP 502 from proxy", 502),
        ("port 4040 and 500 files", None),
        ("", None),
    ],
)
def test_a_status_is_found_in_words(text: str, status: int | None) -> None:
    assert status_in(text) == status


def test_a_message_is_one_bounded_line() -> None:
    message = classify("oops\n" * 1000, status=None, now=NOW).message
    assert len(message) == LONGEST_MESSAGE
    assert "\n" not in message


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_has_a_hint(kind: FailureKind) -> None:
    line = hint(kind, "codex")
    assert line
    assert "\n" not in line
