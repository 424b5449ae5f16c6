"""The agent's words as HTML: CommonMark with tables. No HTML of the agent, no images, and links only to the web and to mail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from untildone.faces.web.render import bidi, code

LONGEST = 100_000
"""Longer texts, in characters, are shown as they are."""
_ALLOWED = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)


def rendered(text: str) -> Markup:
    """Markdown as markup."""
    if len(text) > LONGEST:
        return Markup('<pre class="plain">{}</pre>').format(bidi.marked(text))
    return Markup(_parser().render(text))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "entity"])
    parser.validateLink = lambda url: _ALLOWED.fullmatch(url) is not None  # type: ignore[method-assign]
    return parser


class _Renderer(RendererHTML):
    """Writes text with marks for hidden characters, and headings that do not take part in the outline of the page."""

    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return bidi.marked(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<code>{bidi.marked(tokens[idx].content)}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _block(bidi.marked(tokens[idx].content.rstrip("\n")))

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        language = tokens[idx].info.strip().split(" ")[0]
        return _block(code.highlighted(tokens[idx].content.rstrip("\n"), language))

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        shown = bidi.marked(tokens[idx].content or str(tokens[idx].attrGet("src") or ""))
        return shown if _in_link(tokens, idx) else f"{_link(str(tokens[idx].attrGet('src') or ''))}{shown}</a>"

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _link(str(tokens[idx].attrGet("href") or ""))

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<p class="md-heading md-{tokens[idx].tag}">'

    def heading_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</p>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "<th>"

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "<td>"

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<div class="md-table" tabindex="0"><table>'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>\n"


def _link(url: str) -> str:
    return f'<a href="{escape(url)}" rel="noopener nofollow" target="_blank">'


def _block(shown: str) -> str:
    return f'<pre class="code" tabindex="0"><code>{shown}</code></pre>\n'


def _in_link(tokens: Sequence[Token], idx: int) -> bool:
    return sum({"link_open": 1, "link_close": -1}.get(token.type, 0) for token in tokens[:idx]) > 0
