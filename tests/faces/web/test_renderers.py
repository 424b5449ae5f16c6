"""Text of agents, gates and git as HTML: colours where they help, and never markup that the text itself brings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from untildone.faces.web.render import ansi, bidi, code, markdown, plots

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '"><iframe srcdoc="<script>alert(1)</script>">',
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](javascript:alert(1))",
    '![x](https://example.org/x.png" onerror="alert(1))',
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "```<script>\n<script>alert(1)</script>\n```",
    '```" onmouseover="alert(1)\nx\n```',
    "\x1b[31m<script>alert(1)</script>\x1b[0m",
    "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07",
    "{{ 7 * 7 }}{% raw %}",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "&lt;script&gt;",
    "| <b>a</b> |\n|---|\n| <i>b</i> |",
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "render", [bidi.marked, ansi.coloured, markdown.rendered, lambda text: code.highlighted(text, "html")]
)
def test_no_text_becomes_markup_of_its_own(text: str, render: Callable[[str], str]) -> None:
    html = str(render(text)).lower()
    for bad in (
        "<script",
        "<img",
        "<svg",
        "<iframe",
        "<math",
        "<style",
        "<b>",
        "<i>",
        'href="javascript',
        'href="data',
    ):
        assert bad not in html
    assert " on" not in "".join(part.partition(">")[0] for part in html.split("<")[1:] if "title=" not in part)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "plain"),
        ("a\u202eb", 'a<span class="hidden-char" title="right-to-left override (U+202E)">U+202E</span>b'),
        ("\u200b", '<span class="hidden-char" title="zero width space (U+200B)">U+200B</span>'),
        ("👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"),
        ("tab\tand\r\nline", "tab\tand\r\nline"),
        ("a\x1bb", 'a<span class="hidden-char" title="control character (U+001B)">U+001B</span>b'),
        (
            "1 < 2 & \u2066",
            '1 &lt; 2 &amp; <span class="hidden-char" title="left-to-right isolate (U+2066)">U+2066</span>',
        ),
    ],
)
def test_hidden_characters_are_seen(text: str, html: str) -> None:
    assert bidi.marked(text) == html


def test_hidden_characters_in_attributes_are_written_out() -> None:
    assert bidi.plain("x\u202ey") == "x⟨U+202E⟩y"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("\x1b[31mred\x1b[0m plain", '<span class="ansi-fg-red">red</span> plain'),
        (
            "\x1b[1;32mok\x1b[22m thin",
            '<span class="ansi-fg-green ansi-bold">ok</span><span class="ansi-fg-green"> thin</span>',
        ),
        ("\x1b[38;5;196mr\x1b[39m", '<span class="ansi-fg-red">r</span>'),
        ("\x1b[48;2;0;0;250mb\x1b[m", '<span class="ansi-bg-blue">b</span>'),
        ("\x1b[2K\x1b[1Agone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("a\r\nb", "a\nb"),
        ("50%\r100%\r", "100%"),
        ("\x1b[38;5m", ""),
        ("\x1b[999999999999mx", "x"),
    ],
)
def test_terminal_colours_become_classes(text: str, html: str) -> None:
    assert ansi.coloured(text) == html


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("name", "line"), [("a.ezt", "\t" * 1000), ("a.ly", "a" * 1000)])
def test_a_language_whose_lexer_is_slow_has_no_colours(name: str, line: str) -> None:
    """A second or more for each line, while the server does nothing else: an agent can write such a file."""
    assert code.lines_of_file("\n".join([line] * 150), name) == [[("", line)]] * 150
    assert code.lines_of_file("def f(): pass", "a.py")[0][0] == ("tk-k", "def")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["aaaaa", "\r", "\x1b]", "\x1b[3", "\x1b[31m"])
def test_a_long_line_takes_no_time_that_grows_with_its_square(part: str) -> None:
    """Such lines are common, and while one is read, the server does nothing else. Without care each takes many minutes."""
    assert ansi.coloured(part * 200_000).count("aaaaa") in (0, 200_000)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**a** `b<c`", "<p><strong>a</strong> <code>b&lt;c</code></p>\n"),
        ("# Head", '<p class="md-heading md-h1">Head</p>\n'),
        (
            "[site](https://example.org/?a=1&b=2)",
            '<p><a href="https://example.org/?a=1&amp;b=2" rel="noopener nofollow" target="_blank">site</a></p>\n',
        ),
        (
            "![shot](https://example.org/x.png)",
            '<p><a href="https://example.org/x.png" rel="noopener nofollow" target="_blank">shot</a></p>\n',
        ),
        (
            "[![shot](https://example.org/x.png)](https://example.org)",
            '<p><a href="https://example.org" rel="noopener nofollow" target="_blank">shot</a></p>\n',
        ),
        ("[x](file:///etc/passwd)", "<p>[x](file:///etc/passwd)</p>\n"),
        ("a\u202eb", '<p>a<span class="hidden-char" title="right-to-left override (U+202E)">U+202E</span>b</p>\n'),
        ("one\ntwo", "<p>one<br />\ntwo</p>\n"),
    ],
)
def test_markdown(text: str, html: str) -> None:
    assert markdown.rendered(text) == html


def test_a_fence_has_the_colours_of_its_language() -> None:
    assert '<span class="tk-k">def</span>' in markdown.rendered("```python\ndef f(): pass\n```")


def test_a_very_long_text_is_not_parsed() -> None:
    assert markdown.rendered("**a**" * 30_000).startswith('<pre class="plain">**a**')


@pytest.mark.parametrize("path", ["a.py", "a.html", "a.unknown", "Makefile", "a.js", "a.md", "x.json", "a.php", ""])
def test_code_keeps_its_lines(path: str) -> None:
    text = '\n\n  x = \'<b>\' # c\n\n"""open\n\n'
    lines = code.lines_of_file(text, path)
    assert ["".join(part for _, part in line) for line in lines] == text.split("\n")


def test_code_has_colours() -> None:
    assert code.highlighted("return 1", "python") == '<span class="tk-k">return</span> <span class="tk-n">1</span>'
    assert code.highlighted("return 1", "no such language") == "return 1"


def test_a_plot_says_its_values() -> None:
    html = plots.bars([plots.Bar("Round 1", 0.5, "$0.50"), plots.Bar("Round <2>", 1.0, "$1.00", "bad")], "Dollars")
    assert 'role="img" aria-label="Dollars. Round 1: $0.50, Round &lt;2&gt;: $1.00"' in html
    assert '<rect class="bar bad" x="426.0" y="0.0" width="48.0" height="120.0"><title>Round &lt;2&gt;: $1.00' in html
    assert "<rect" not in plots.bars([], "Nothing")
