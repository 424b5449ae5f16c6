"""Which variables of a person's environment their agents and checks get: those of a table, those of the agent, those that the person names.

A shell knows keys of clouds, tokens and passwords that no agent and no check needs. What is in no table is left out. A
sentence names it where a check or an agent seems to miss it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from untildone.core.children import SOCKET
from untildone.core.protection.secret_values import looks_secret
from untildone.core.protection.usual_variables import TABLE

PRIVATE = (
    "UNTILDONE_TOKEN",
    "UNTILDONE_NOTIFY_SECRET",
    "UNTILDONE_NOTIFY_WEBHOOK",
    "UNTILDONE_NOTIFY_APPRISE",
    "UNTILDONE_STORE",
    "UNTILDONE_PROFILES",
    SOCKET,
)
"""Variables of untildone that no agent and no check gets, whatever the person names."""
SSH = ("SSH_AUTH_SOCK", "SSH_AGENT_PID")
"""The person's SSH agent: these pass with `--allow-ssh`."""

_ALWAYS = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "http_proxy", "https_proxy", "all_proxy", "ftp_proxy"),
    "UNTILDONE_MARK_*",
)
"""Names that pass whatever their values hold: the password of a proxy is needed to get out."""

MOST_NAMED = 5
"""Variables that one sentence names."""


def passed(environment: Mapping[str, str], own: Collection[str] = (), named: Collection[str] = ()) -> dict[str, str]:
    """The part of an environment that passes. `own` are the variables that an agent needs: patterns of these let no secret pass, full
    names do. `named` are those that the person names, by full name or pattern."""
    return {name: value for name, value in environment.items() if _passes(name, value, tuple(own), tuple(named))}


def left_out(environment: Mapping[str, str], own: Collection[str] = (), named: Collection[str] = ()) -> frozenset[str]:
    """The names of variables that do not pass. Untildone's own are left out: no setting can let them pass."""
    kept = passed(environment, own, named)
    return frozenset(name for name in environment if name not in kept and name not in PRIVATE)


def _passes(name: str, value: str, own: tuple[str, ...], named: tuple[str, ...]) -> bool:
    if name in PRIVATE:
        return False
    if _any_of((*_ALWAYS, *named)).fullmatch(name) or name in own:
        return True
    return bool(_any_of((*TABLE, *own)).fullmatch(name)) and not looks_secret(name, value)


@lru_cache(maxsize=64)
def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that matches any of the names. A name that ends in `*` stands for every name with that beginning: `*` itself for all."""
    forms = (f"{re.escape(name[:-1])}.*" if name.endswith("*") else re.escape(name) for name in dict.fromkeys(names))
    return re.compile("|".join(forms) or "(?!)", re.DOTALL)


def mentioned(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that a text contains as words, in the order of the text. A short or plain word counts only with a dollar sign before it."""
    candidates = [name for name in names if name and name in text]
    if not candidates:
        return ()
    choice = "|".join(map(re.escape, sorted(candidates, key=len, reverse=True)))
    matches = re.finditer(rf"(?P<dollar>\$\{{?)?(?<![A-Za-z0-9_])(?P<name>{choice})(?![A-Za-z0-9_])", text)
    return tuple(dict.fromkeys(each["name"] for each in matches if each["dollar"] or _is_telling(each["name"])))


def mentioned_in_command(command: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that a command mentions and does not set itself."""
    return mentioned(re.sub(r"(?<![A-Za-z0-9_$])\w+=", "", command), names)


def _is_telling(name: str) -> bool:
    return "_" in name.strip("_") or (name.isupper() and len(name) >= 6)


def flags(names: Iterable[str]) -> str:
    """The flags that let variables pass."""
    return " ".join(f"--pass-env {name}" for name in names)


def why(command: str, output: str, names: Collection[str]) -> str:
    """A sentence about variables that a failed check may have missed; empty if neither command nor output mentions one that was left
    out."""
    set_there = {word[1] for word in re.finditer(r"(?<![A-Za-z0-9_$])(\w+)=", command)}
    mention = dict.fromkeys((*mentioned_in_command(command, names), *mentioned(output, names)))
    return not_got(tuple(name for name in mention if name not in set_there))


def not_got(names: tuple[str, ...]) -> str:
    """A sentence about variables that a program misses because they did not pass; empty if there are none."""
    names = names[:MOST_NAMED]
    are = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {are} set where untildone runs, but not passed on: `{flags(names)}`." if names else ""


def notice(mentions: Mapping[str, str]) -> str:
    """The line at the start of a run about variables that are left out, each with what mentions it; empty if there are none."""
    names = tuple(mentions)[:MOST_NAMED]
    if not names:
        return ""
    each = ", ".join(f"{name} ({mentions[name]})" for name in names)
    return f"Set here, but not passed on to agents and checks: {each}. hint: {flags(names)}"


def refer_to(text: str, names: Iterable[str]) -> Iterator[str]:
    """The names to which the settings of a program refer: `$NAME`, `${NAME}`, `{env:NAME}`, `env_key = "NAME"`."""
    for name in mentioned(text, names):
        word = re.escape(name)
        if re.search(rf"\$\{{?{word}\b|\{{env:{word}\}}|(?i:env\w*)[\"']?\s*[:=]\s*\[?[^\]\n]*[\"']{word}[\"']", text):
            yield name
