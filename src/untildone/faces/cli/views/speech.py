"""What agents say, drawn as Markdown at a terminal: headings, lists, tables, code and links. Elsewhere the text stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from untildone.faces.cli.streams import Output
from untildone.faces.text.plain import harmless

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

CODE_THEME = "ansi_dark"


def markdown(text: str) -> RenderableType:
    """The text as Markdown, indented by two. A line break stays one, and tags such as <promise> stay visible."""
    from markdown_it import MarkdownIt
    from rich.markdown import CodeBlock, Markdown
    from rich.padding import Padding
    from rich.syntax import Syntax

    class Code(CodeBlock):
        """Code without blank lines around it."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True)

    class Words(Markdown):
        elements = {**Markdown.elements, "fence": Code, "code_block": Code}  # noqa: RUF012 (as in its base class)

    drawn = Words("", code_theme=CODE_THEME, hyperlinks=False)
    drawn.parsed = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).parse(harmless(text))
    for token in drawn.parsed:
        token.tag = "h2" if token.tag == "h1" else token.tag
        for child in token.children or ():
            child.type = "hardbreak" if child.type == "softbreak" else child.type
    return Padding(drawn, (0, 0, 0, 2))


def drawn(text: str, width: int | None = None) -> str:
    """The lines of the text as Markdown, with colours, for standard output at a terminal."""
    from rich.console import Console

    console = Console(highlight=False, width=width)
    with console.capture() as captured:
        console.print(markdown(text))
    return captured.get().rstrip("\n")


def write(out: Output, text: str) -> None:
    """Write what an agent said: Markdown at a terminal, the text with its line breaks elsewhere."""
    out.line(drawn(text) if out.is_terminal else text)
