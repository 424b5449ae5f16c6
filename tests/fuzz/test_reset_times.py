"""When a limit lifts: a time that is written in any of the usual forms is read back, and nothing else is believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import tried

from untildone.core.answers.failures import classify, limit_in_answer
from untildone.core.answers.reset_times import DAY, HOUR, MINUTE, reset_time
from untildone.core.model import FailureKind

moments = st.integers(1_767_225_600, 1_893_456_000).map(float)
"""From 2026 to 2030."""
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Sydney", "Asia/Tokyo")
TOKENS = (
    "try again", "resets", "reset", "at", "in", "retry-after", ":", "|", "5", "5h", "30 minutes", "3pm", "15:00", "25:99",
    "99am", "Jan 31", "Feb 30", "2026-02-30T25:61", "0001-01-01T00:00+23:59", "9999-12-31T23:59:59-23:59", "UTC", "PST",
    "(Europe/Nowhere)", "(America/New_York)", "(Etc/..)", "9999999999", "1794765000", "9" * 400, "per day", "daily", "\n",
)  # fmt: skip


@tried()
@given(
    words=st.lists(st.sampled_from(TOKENS) | st.text(max_size=6), max_size=8),
    now=moments,
    offset=st.integers(-50400, 50400),
)
def test_no_words_break_it_and_what_is_read_is_near(words: list[str], now: float, offset: int) -> None:
    text = " ".join(words)
    told = reset_time(text, now, offset)
    assert told is None or now - 10 * MINUTE <= told <= now + 40 * DAY
    failure = classify(text, status=None, now=now, utc_offset=offset)
    assert failure.reset_at is None or failure.kind is FailureKind.LIMIT
    assert "\n" not in failure.message
    limit_in_answer(text, now, offset)


@tried()
@given(now=moments, seconds=st.integers(0, int(39 * DAY)))
def test_epochs_and_iso_times_are_read_to_the_second(now: float, seconds: int) -> None:
    lifts = now + seconds
    when = datetime.fromtimestamp(lifts, UTC)
    ahead = when.astimezone(timezone(timedelta(hours=5, minutes=30)))
    for text in (
        f"usage limit reached|{lifts:.0f}",
        f"usage limit reached|{lifts:.0f}000",
        f'{{"resets_at": {lifts:.0f}}}',
        f"resets at {when:%Y-%m-%dT%H:%M:%SZ}",
        f"resets at {when:%Y-%m-%d %H:%M:%S} UTC",
        f"resets at {ahead.isoformat()}",
    ):
        assert reset_time(text, now) == lifts, text


@tried()
@given(
    now=moments,
    days=st.integers(0, 30),
    hours=st.integers(0, 23),
    minutes=st.integers(0, 59),
    seconds=st.integers(0, 59),
)
def test_durations_add_up(now: float, days: int, hours: int, minutes: int, seconds: int) -> None:
    lifts = now + days * DAY + hours * HOUR + minutes * MINUTE + seconds
    for text in (
        f"Try again in {days} days, {hours} hours, {minutes} minutes and {seconds} seconds.",
        f"Try again in {days}d {hours}h {minutes}m {seconds}s",
        f"retry-after: {lifts - now:.0f}",
        f"retry_after_ms={(lifts - now) * 1000:.0f}",
    ):
        assert reset_time(text, now) == lifts, text


@tried()
@given(now=moments, minutes=st.integers(0, 23 * 60 + 45), zone=st.sampled_from(ZONES))
@example(now=datetime(2026, 3, 7, 20, tzinfo=UTC).timestamp(), minutes=18 * 60, zone="America/New_York")
def test_a_clock_time_is_the_next_such_moment_where_the_clock_hangs(now: float, minutes: int, zone: str) -> None:
    """Also where the clocks are set between now and then. (One that passed in the last ten minutes means now.)"""
    place = ZoneInfo(zone)
    lifts = (datetime.fromtimestamp(now, UTC) + timedelta(minutes=minutes)).astimezone(place).replace(second=0)
    if lifts.timestamp() < now or lifts.fold or lifts.astimezone(UTC).astimezone(place) != lifts:
        return
    for text in (
        f"resets {lifts:%I:%M%p} ({zone})".lower().replace(zone.lower(), zone),
        f"resets at {lifts:%H:%M} {zone}",
        f"resets {lifts:%b} {lifts.day}, {lifts.year} at {lifts:%H:%M} ({zone})",
    ):
        assert reset_time(text, now) == lifts.timestamp(), text


@tried()
@given(now=moments, later=st.integers(0, 3600), hours=st.integers(1, 100))
def test_a_duration_told_later_lifts_later(now: float, later: int, hours: int) -> None:
    text = f"Please wait {hours} hours"
    first, second = reset_time(text, now), reset_time(text, now + later)
    assert first is not None
    assert second is not None
    assert second - first == later
