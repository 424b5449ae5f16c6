"""Reads from a program's message when a limit resets: an epoch, a duration, an ISO or clock time, a daily quota."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from zoneinfo import ZoneInfo

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_JUST_PASSED = 10 * MINUTE
"""A clock time that passed less than this ago means now, not tomorrow."""
_FARTHEST = 40 * DAY

_AGAIN = r"\b(?:try(?:ing)?\ again|retry(?:ing)?|resets?|resetting|wait|available|renews?|lifts?|until|refreshes)\b"
_NUMBER = r"\d+(?:\.\d+)?"
_UNIT = r"(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)"
_SECONDS = {"s": 1.0, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}

_EPOCH = re.compile(r"(?:\||\breset[a-z_-]*[\"']?\s*[:=]\s*[\"']?)\s*(\d{10})(?:\d{3})?\b", re.IGNORECASE)
_RETRY_AFTER = re.compile(
    r"(?:retry[-_ ]?(?:after|delay)|resets?_(?:in|after)_seconds)(_?-?ms)?[\"']?\s*[:=]?\s*[\"']?"
    rf"({_NUMBER})(?![\d:])\s*({_UNIT}(?![a-z]))?",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s?(Z|UTC|[+-]\d\d:?\d\d)?", re.IGNORECASE)
_DURATION = re.compile(
    rf"{_AGAIN}(?:(?!\btime\b)[^.\n\d]){{0,40}}((?:{_NUMBER}\s*{_UNIT}(?:,|\sand)?\s*)+)(?![a-z\d:])", re.IGNORECASE
)
_PART = re.compile(rf"({_NUMBER})\s*([a-z]+)", re.IGNORECASE)
_CLOCK = re.compile(
    rf"""{_AGAIN} [^\d\n]{{0,25}}? \b
    (?: (?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\ (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\ +
        (?: (?P<year>\d{{4}}),?\ + )? (?:at\ +)? )?
    (?: (?P<hour>\d{{1,2}}) (?: :(?P<minute>\d\d) )? \s* (?P<half>[ap])\.?m\b
      | (?P<hour24>[01]?\d|2[0-3]) : (?P<minute24>[0-5]\d) (?: :\d\d )? )
    (?: \s* \(? (?P<zone>(?-i: [A-Z][a-z]+ (?:/[A-Za-z0-9_+\-]+)+ | [A-Z]{{1,5}} )) \b )?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_DATE = re.compile(
    rf"""{_AGAIN} [^\d\n]{{0,25}}? \b
    (?: (?P<iso>\d{{4}}-\d\d-\d\d)
      | (?P<month>{_MONTH})[a-z]*\.?\ (?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:,?\ +(?P<year>\d{{4}}))?
      | (?P<day_first>\d{{1,2}})(?:st|nd|rd|th)?\ (?P<month_after>{_MONTH})[a-z]* (?:,?\ +(?P<year_after>\d{{4}}))? )
    \b (?!:)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAILY = re.compile(r"per[ _]?day|daily", re.IGNORECASE)
_DAILY_RESET_HOUR_UTC = 8
"""When daily quotas without a time reset: midnight of Pacific standard time. In summer that is an hour late, never early."""
_ZONE_HOURS = {"UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8}
_ZONE_HOURS |= {"PDT": -7, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "JST": 9, "KST": 9}


def reset_time(text: str, now: float, utc_offset: float = 0.0) -> float | None:
    """When the limit resets (epoch seconds); None: the text does not say. `utc_offset` applies to times without a time zone."""
    local = timezone(timedelta(seconds=utc_offset))
    for reading in (_epoch, _retry_after, _iso, _duration, _clock, _date, _daily):
        moment = believable(reading(text, now, local), now)
        if moment is not None:
            return moment
    return None


def believable(moment: float | None, now: float) -> float | None:
    """The moment, or None if it is too far away to be the reset of a limit."""
    return moment if moment is not None and now - _JUST_PASSED <= moment <= now + _FARTHEST else None


def _epoch(text: str, _now: float, _local: tzinfo) -> float | None:
    match = _EPOCH.search(text)
    return float(match[1]) if match else None


def _retry_after(text: str, now: float, _local: tzinfo) -> float | None:
    match = _RETRY_AFTER.search(text)
    return now + float(match[2]) * _seconds_of("ms" if match[1] else match[3] or "s") if match else None


def _iso(text: str, _now: float, local: tzinfo) -> float | None:
    match = _ISO.search(text)
    if match is None:
        return None
    zone = (match[3] or "").upper().replace("UTC", "Z").replace("Z", "+00:00")
    return _moment(lambda: datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}"), local)


def _duration(text: str, now: float, _local: tzinfo) -> float | None:
    match = _DURATION.search(text)
    return now + sum(float(number) * _seconds_of(unit) for number, unit in _PART.findall(match[1])) if match else None


def _clock(text: str, now: float, local: tzinfo) -> float | None:
    match = _CLOCK.search(text)
    if match is None:
        return None
    zone = _zone(match["zone"], local)
    today = datetime.fromtimestamp(now, zone)
    moment = _at_clock(match, today, zone)
    if moment is not None and match["month"] is None and moment < now - _JUST_PASSED:
        # By date, not 24 hours later: daylight saving time may change that night.
        return _at_clock(match, today + timedelta(days=1), zone)
    return moment


def _at_clock(match: re.Match[str], today: datetime, zone: tzinfo) -> float | None:
    return _moment(lambda: _on_the_day(match, today).replace(hour=_hour(match), minute=_minute(match)), zone)


def _date(text: str, now: float, local: tzinfo) -> float | None:
    """The beginning of a day in an unknown time zone: the later of its beginnings in UTC and in local time, so that it is never too
    early."""
    match = _DATE.search(text)
    if match is None:
        return None
    today = datetime.fromtimestamp(now, local)
    begins = (_moment(partial(_day, match, today, zone), zone) for zone in (UTC, local))
    return max((moment for moment in begins if moment is not None), default=None)


def _day(match: re.Match[str], today: datetime, zone: tzinfo) -> datetime:
    if match["iso"]:
        return datetime.fromisoformat(match["iso"]).replace(tzinfo=zone)
    month = _MONTHS.index((match["month"] or match["month_after"]).lower()) + 1
    year = match["year"] or match["year_after"] or today.year + (1 if month < today.month else 0)
    return datetime(int(year), month, int(match["day"] or match["day_first"]), tzinfo=zone)


def _daily(text: str, now: float, _local: tzinfo) -> float | None:
    if not _DAILY.search(text):
        return None
    today = datetime.fromtimestamp(now, UTC)
    reset = today.replace(hour=_DAILY_RESET_HOUR_UTC, minute=0, second=0, microsecond=0).timestamp()
    return reset if reset > now else reset + DAY


def _on_the_day(match: re.Match[str], today: datetime) -> datetime:
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    if match["month"] is None:
        return midnight
    month = _MONTHS.index(match["month"].lower()) + 1
    year = int(match["year"]) if match["year"] else today.year + (1 if month < today.month else 0)
    return midnight.replace(year=year, month=month, day=int(match["day"]))


def _hour(match: re.Match[str]) -> int:
    if match["half"] is None:
        return int(match["hour24"])
    hour = int(match["hour"])
    if not 1 <= hour <= 12:
        raise ValueError(f"{hour} is not an hour of a twelve-hour clock")
    return hour % 12 + (12 if match["half"].lower() == "p" else 0)


def _minute(match: re.Match[str]) -> int:
    return int(match["minute"] or match["minute24"] or 0)


def _zone(name: str | None, local: tzinfo) -> tzinfo:
    if name is None:
        return local
    if name in _ZONE_HOURS:
        return timezone(timedelta(hours=_ZONE_HOURS[name]))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return local


def _moment(read: Callable[[], datetime], zone: tzinfo) -> float | None:
    """The epoch seconds of a date, in this time zone if it has none; None for a date that does not exist."""
    try:
        date = read()
        return (date if date.tzinfo else date.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return None


def _seconds_of(unit: str) -> float:
    unit = unit.lower()
    if unit == "ms" or unit.startswith("milli"):
        return 0.001
    return _SECONDS[unit[0]]
