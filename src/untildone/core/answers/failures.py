"""Classifies why a turn failed, from an HTTP status and the message of the program. One table for all agents.

`untildone.core.answers.reset_times` reads when a limit resets.
"""

from __future__ import annotations

import re
from typing import assert_never

from untildone.core.answers.reset_times import reset_time
from untildone.core.model import Failure, FailureKind

LONGEST_MESSAGE = 600
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|[\x00-\x08\x0e-\x1f\x7f]")

_STATUS = re.compile(
    r"""(?ix)
    (?: \b(?:status(?:code)?|code|error|http(?:/\d(?:\.\d)?)?) ["'\s:=(]{1,4} (?:code["'\s:=(]{0,4})? ([45]\d\d) \b
      | \( ([45]\d\d) \)
      | \b ([45]\d\d) \s+ (?:unauthorized|forbidden|not\ found|payload|too\ many|internal|bad|service|gateway)\b )
    """
)

_BY_STATUS = {
    401: FailureKind.AUTH,
    402: FailureKind.LIMIT,
    408: FailureKind.TIMEOUT,
    413: FailureKind.CONTEXT_FULL,
    429: FailureKind.LIMIT,
}

_SESSION_BUSY = "already has an active writer"
_CONTEXT_FULL = (
    "prompt is too long|prompt too long|input is too long|request too large|context[ _-]?(?:window|length)"
    "|maximum context|too many (?:input )?tokens|token count.{0,40}exceeds|out of room|max_prompt_tokens_exceeded"
)
_LIMIT = (
    "rate[ _-]?limit|(?:usage|session|weekly|daily|hourly|monthly|spending|opus|sonnet) limit"
    "|limit (?:was |is )?reached|(?:hit|reached|exceeded) your .{0,40}(?:limit|quota)|quota|too many requests"
    "|resource[ _]?exhausted|credit balance|billing|insufficient (?:credit|funds|balance)"
    "|out of (?:extra )?(?:usage|credits)"
)
_AUTH = (
    "unauthori[sz]ed|unauthenticated|authenticat|(?:invalid|incorrect|missing|bad|no)[ _]api[ _-]?key"
    "|api[ _-]?key (?:is )?(?:not valid|invalid|missing|expired|required|not found)|not logged in"
    "|log ?in (?:again|first|required)|please run /login|permission_error|forbidden|set an auth method"
    "|(?:token|credentials?) (?:has |have |is |are )?expired|invalid.{0,10}credentials"
)
_UNAVAILABLE = (
    "no conversation found|no (?:rollout|thread|session)s? found|(?:session|thread|conversation) .{0,80}not found"
    "|session not found|no (?:saved |previous )?session|invalid session identifier|model_not_found|unknown model"
    "|model.{0,80}(?:not found|not exist|not supported|not available|unknown)|issue with the selected model"
    "|command not found|no such file or directory|cannot execute|not_found_error"
)
_REFUSED = (
    "usage polic|content polic|policy violation|violates? .{0,40}polic|content[ _]filter|blocked (?:by|due to) safety"
    "|prohibited_content|refused to (?:answer|respond)"
)
_TIMEOUT = r"timed? ?out\b|deadline exceeded|etimedout"
_MALFORMED = (
    "malformed|unexpected end of json|invalid json|not valid json|unexpected token .{0,40}json|json parse"
    "|failed to parse"
)
_OVERLOADED = (
    "overloaded|high demand|server[ _-]error|internal error|service unavailable|bad gateway|temporarily unavailable"
    "|connection (?:was )?(?:refused|reset|closed|dropped|failed|error|terminated|lost)|econn(?:refused|reset|aborted)"
    "|enotfound|eai_again|epipe|socket hang ?up|fetch failed|network error|(?:unable to|could not) connect"
    r"|stream (?:was )?(?:disconnected|closed|cut|error|ended)|error sending request|\bterminated\b|premature close"
    "|upstream|request ended without|response was interrupted|unexpected eof|error reading a body"
)
_WORDS = tuple(
    (kind, re.compile(words, re.IGNORECASE))
    for kind, words in (
        (FailureKind.SESSION_BUSY, _SESSION_BUSY),
        (FailureKind.CONTEXT_FULL, _CONTEXT_FULL),
        (FailureKind.LIMIT, _LIMIT),
        (FailureKind.AUTH, _AUTH),
        (FailureKind.UNAVAILABLE, _UNAVAILABLE),
        (FailureKind.REFUSED, _REFUSED),
        (FailureKind.TIMEOUT, _TIMEOUT),
        (FailureKind.MALFORMED, _MALFORMED),
        (FailureKind.OVERLOADED, _OVERLOADED),
    )
)
"""If the status does not decide, the kind of a failure is the first one whose pattern matches the message."""

_LIMIT_SENTENCE = re.compile(
    r"""(?ix) ^ (?:\W{0,3}error:\s*)?
    (?: (?-i: [A-Z]\w*\ ){0,2}?  # the name of a product
        (?:\w+[\ -]){0,2}? limit\ (?:was\ )?(?:reached|exceeded)
      | you(?:'|’)?(?:ve|\ have)?\ (?:now\ )?(?:hit|reached|exceeded)\ your\ (?:[\w-]+\ ){0,4}? (?:limit|quota)
      | (?:\w+\ ){0,2}? quota\ (?:was\ )?(?:reached|exceeded)
      | you(?:'|’)?(?:re|\ are)\ out\ of\ (?:extra\ )?(?:usage|credits)
      | too\ many\ requests )
    (?P<rest> .* ) $
    """,
    re.DOTALL,
)
"""The message of a program that reached a limit, in place of an answer. `rest` must be empty, a time, or match `_ADVICE`."""

_ADVICE = re.compile(
    r"""(?ix) ^ [\s.!,;:|·∙•()\-–—]*
    (?: $ | \d{10,13}\W*$ | resets?\b | (?:your|the)\ (?:\w+\ )?limit\ (?:will\ )?resets? | it\ (?:will\ )?resets?
      | (?:please\ )?(?:try|wait|retry)\b | upgrade\b | /upgrade | to\ get\ more | please\ (?:check|upgrade|visit)
      | visit\ | contact\ )
    """
)
_LONGEST_SENTENCE = 400


def classify(text: str, *, status: int | None, now: float, utc_offset: float = 0.0) -> Failure:
    """The failure that a program's message reports. `utc_offset` (seconds) applies to clock times without a time zone."""
    message = _shortened(text)
    kind = _kind(text, status if status is not None else status_in(text))
    if kind is FailureKind.LIMIT:
        return Failure(kind, message, reset_time(text, now, utc_offset))
    return Failure(kind, message)


def limit_in_answer(text: str, now: float, utc_offset: float = 0.0) -> Failure | None:
    """The limit that a seemingly successful answer reports; None for any other answer, also for a text about limits."""
    message = text.strip()
    if not message or len(message) > _LONGEST_SENTENCE or "`" in message or "</" in message:
        return None
    sentence = _LIMIT_SENTENCE.match(message)
    if sentence is None or not _ADVICE.match(sentence["rest"]):
        return None
    return Failure(FailureKind.LIMIT, _shortened(message), reset_time(message, now, utc_offset))


def limit_as_last_word(complaints: str, now: float, utc_offset: float = 0.0) -> Failure | None:
    """The limit at the end of a program's error output, before optional advice. Text after a limit means that work went on."""
    lines = [line for line in complaints.splitlines() if line.strip()]
    begin = next((place for place in reversed(range(len(lines))) if not _ADVICE.match(lines[place])), 0)
    return limit_in_answer("\n".join(lines[begin:]), now, utc_offset)


def status_in(text: str) -> int | None:
    """The HTTP error status in a message; None: it contains none."""
    match = _STATUS.search(text)
    return int(next(group for group in match.groups() if group)) if match else None


def hint(kind: FailureKind, program: str) -> str:
    """What a person can do about a failure, in one line."""
    match kind:
        case FailureKind.LIMIT:
            return f"wait until the limit of {program} lifts, or name another agent with --fallback-agent"
        case FailureKind.AUTH:
            return f"log in with {program} itself, or check the key in its environment"
        case FailureKind.OVERLOADED:
            return f"the service behind {program} has trouble: check the network, or try again later"
        case FailureKind.CONTEXT_FULL:
            return "go on in a new session (--context fresh), or make the task smaller"
        case FailureKind.REFUSED:
            return "say the task in other words, or choose another model with --model"
        case FailureKind.CRASHED:
            return f"look at the end of the round's output (untildone log), or run {program} by hand"
        case FailureKind.TIMEOUT:
            return "give it more time with --iteration-timeout, or make the task smaller"
        case FailureKind.MALFORMED:
            return f"check that this version of {program} is supported (untildone agents), and for a proxy in between"
        case FailureKind.RESOURCES:
            return "free memory, processes or open files on this machine, then resume"
        case FailureKind.SESSION_BUSY:
            return f"close the session in {program}, then `untildone resume` goes on"
        case FailureKind.UNAVAILABLE:
            return f"check that {program}, the model and the session exist (untildone agents)"
        case _:
            assert_never(kind)


def _kind(text: str, status: int | None) -> FailureKind:
    by_words = next((kind for kind, words in _WORDS if words.search(text)), None)
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and status >= 500:
        return FailureKind.OVERLOADED
    if status == 403:
        return by_words if by_words in (FailureKind.LIMIT, FailureKind.REFUSED) else FailureKind.AUTH
    if status == 404:
        return FailureKind.UNAVAILABLE
    return by_words or FailureKind.CRASHED


def plain(text: str) -> str:
    """The text without terminal escape sequences and control characters."""
    return _ESCAPE.sub("", text)


def _shortened(text: str) -> str:
    message = " ".join(plain(text).split())
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
