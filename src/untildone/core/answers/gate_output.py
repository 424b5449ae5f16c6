"""The output of gates as text: for people, and as a signature by which equal failures are recognised."""

from __future__ import annotations

import re

from untildone.core.model import GateResult
from untildone.core.values.digest import sha256

_ANSI = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"


def plain_line(line: str) -> str:
    """The line as a terminal shows it: without colours, and only the part after the last carriage return."""
    without_colours = re.sub(_ANSI, "", line) if "\x1b" in line else line
    return without_colours.rstrip().rsplit("\r", 1)[-1]


_VARIABLE_PARTS = (
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\b", "<time>"),
    (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+\b", "<address>"),
    (r"(?:/private)?(?:/var/folders/\w+/\w+/T|/var/tmp|/tmp|/dev/shm)/[^/\s'\":,;)\]]+", "<tmp>"),
    (r"\bpytest-\d+\b", "<tmp>"),
    (r"(?i)[A-Za-z]:\\[^\s'\":]*?\\Temp\\[^\\\s'\":]+", "<tmp>"),
    (r"((?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):)\d+", r"\1<port>"),
    (r"(?i)\b(seed|pid|process|thread)(\W{1,3}|-seed\W)\d+", r"\1 <number>"),
    (r"==\d+==", "<number>"),
    (r"\b\d+(?:\.\d+)?(?: ?(?:ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?))\b", "<duration>"),
    (r"(?:<duration> )+<duration>", "<duration>"),
    (r"([=\-_~*#.─━])\1{3,}", r"\1"),
    (r"\s+", " "),
)


def _normalised(line: str) -> str:
    line = plain_line(line)
    for pattern, replacement in _VARIABLE_PARTS:
        line = re.sub(pattern, replacement, line)
    return line.strip()


def signature(results: tuple[GateResult, ...]) -> str:
    """Equal for the same gates failing in the same way; empty if no gate failed.

    Parts that differ from run to run do not count: times, addresses, temporary paths, and the order of lines (parallel
    test runs print in any order).
    """
    failed = [result for result in results if not result.passed]
    if not failed:
        return ""
    digest = sha256()
    for result in failed:
        lines = sorted({_normalised(line) for line in result.tail.split("\n")})
        digest.update("\0".join((result.gate, result.command, result.reason, *lines, "\n")).encode("utf-8", "replace"))
    return digest.hexdigest()
