"""The blocks of an agent's output as markup."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup

from untildone.faces.web.render import ansi, code, markdown
from untildone.faces.web.translations.texts import Texts
from untildone.operations.showing.output_window import Block, Call, Kind

LONGEST_SUMMARY = 120
LONGEST_JSON = 20_000


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block: what it is, where it begins in the output, a line for its fold, its content."""

    kind: Kind
    at: int
    summary: str
    html: Markup
    calls: tuple[Call, ...] = ()


def shown(t: Texts, block: Block) -> ShownBlock:
    """A block as the page shows it."""
    match block.kind:
        case Kind.SAID:
            return ShownBlock(block.kind, block.at, "", said(block.text))
        case Kind.THOUGHT:
            return ShownBlock(
                block.kind, block.at, t("Thinking: {words}", words=first_line(block.text)), said(block.text)
            )
        case Kind.NOTICE:
            return ShownBlock(block.kind, block.at, "", ansi.coloured(block.text))
        case Kind.TOOLS:
            return ShownBlock(block.kind, block.at, _calls_line(t, block.calls), Markup(""), block.calls)


@lru_cache(maxsize=1000)
def said(text: str) -> Markup:
    """The words of an agent: Markdown; an answer in JSON is laid out."""
    if "\x1b[" in text:
        return Markup('<pre class="plain">{}</pre>').format(ansi.coloured(text))
    if laid_out := _json(text):
        return Markup('<pre class="code" tabindex="0"><code>{}</code></pre>').format(code.highlighted(laid_out, "json"))
    return markdown.rendered(text)


def _json(text: str) -> str:
    """A text that is an object or a list of JSON, laid out; empty for others."""
    if len(text) > LONGEST_JSON or text.strip()[:1] not in ("{", "["):
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict | list) else ""


def _calls_line(t: Texts, calls: tuple[Call, ...]) -> str:
    last = calls[-1]
    words = first_line(f"{last.tool} {last.summary or last.result}")
    if len(calls) > 1:
        words = t("{n} tool calls, last: {what}", n=len(calls), what=words)
    failed = sum(call.ok is False for call in calls)
    return f"{words} ({t('{n} failed', n=failed)})" if failed else words


def first_line(words: str) -> str:
    """The first line of a text, cut to a summary."""
    first = words.strip().partition("\n")[0]
    return first if len(first) <= LONGEST_SUMMARY else f"{first[: LONGEST_SUMMARY - 1]}…"
