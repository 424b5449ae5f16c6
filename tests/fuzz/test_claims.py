"""Claims, against messages that are put together from pieces whose meaning is known: the last one decides."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import Draw, tried

from untildone.core.answers.claims import MarkerFound, has_marker, has_promise

PROMISE = "<promise>COMPLETE</promise>"
MARKER = "[TASK_COMPLETED]"
WORDS = st.lists(
    st.sampled_from(("I", "ran", "the", "tests.", "Done?", "é", "任务", "x=1", "a|b", "<b>")), max_size=5
).map(" ".join)


@dataclass(frozen=True)
class Piece:
    """A block of a message, and whether the promise in it is the agent's own word."""

    text: str
    claims: bool


@st.composite
def plain(draw: Draw) -> Piece:
    """A line with nothing but the promise, or a paragraph without backticks in which it does not stand alone."""
    if draw(st.booleans()):
        lead = draw(st.sampled_from(("", " ", "   ", "# ", "**", "✅ ", "It works. ", "完成。")))
        return Piece(f"{lead}{PROMISE}{draw(st.sampled_from(('', ' ', '.', '**', ' 🎉')))}", claims=True)
    lead = draw(st.sampled_from(("", "- ", "* ", "1. ", "# ", "    ", "**")))
    return Piece(f"{lead}{draw(WORDS)} x {PROMISE} y {draw(WORDS)}".rstrip(), claims=False)


@st.composite
def fenced(draw: Draw) -> Piece:
    sign = draw(st.sampled_from("`~"))
    length = draw(st.integers(3, 6))
    indent = " " * draw(st.integers(0, 3))
    shorter = draw(st.sampled_from(("", sign * (length - 1), "> x", ("~" if sign == "`" else "`") * 7, "`", "``")))
    closing = sign * draw(st.integers(length, length + 2))
    language = draw(st.sampled_from(("", "python", "text x")))
    lines = [f"{indent}{sign * length}{language}", draw(WORDS), shorter, PROMISE, draw(WORDS), f"{indent}{closing}"]
    return Piece("\n".join(lines), claims=False)


@st.composite
def quoted(draw: Draw) -> Piece:
    lines = draw(st.lists(st.sampled_from((PROMISE, f"say {PROMISE}", "no", "```")), min_size=1, max_size=3))
    lead = draw(st.sampled_from((">", "> ", ">> ", "  > ", "- > ")))
    return Piece("\n".join(lead + line for line in lines), claims=False)


@st.composite
def in_code(draw: Draw) -> Piece:
    """A code span: the run that opens it is closed by the next run of exactly its length."""
    run = "`" * draw(st.integers(1, 4))
    inner = draw(st.sampled_from(("", "``" if len(run) == 1 else "`", "a\nb ")))
    return Piece(f"{draw(WORDS)} x {run} {inner} {PROMISE} {run} {draw(WORDS)}", claims=False)


pieces = st.one_of(plain(), fenced(), quoted(), in_code())


@tried()
@given(parts=st.lists(pieces, min_size=1, max_size=6), ending=st.sampled_from(("\n", "\r\n")))
def test_the_last_piece_decides_wherever_the_promise_stood_before(parts: list[Piece], ending: str) -> None:
    message = "\n\n".join(part.text for part in parts).replace("\n", ending)
    assert has_promise(message, PROMISE) is parts[-1].claims


@tried()
@given(parts=st.lists(pieces, max_size=5), words=WORDS)
def test_more_words_after_the_promise_take_it_back(parts: list[Piece], words: str) -> None:
    text = "\n\n".join((*(part.text for part in parts), PROMISE, f"{words} x"))
    assert not has_promise(text, PROMISE)


prompts = st.lists(
    st.sampled_from(
        ("Mend the parser", "When all is done", f"answer {PROMISE} and stop", PROMISE, "Do not stop before")
    ),
    min_size=1,
    max_size=4,
)


@tried()
@given(lines=prompts, stop=st.sampled_from((".", "!", "", ":")))
@example(lines=["When all is done", f"answer {PROMISE} and stop"], stop="")
def test_a_prompt_that_is_repeated_whole_is_no_claim_and_the_promise_below_it_is(lines: list[str], stop: str) -> None:
    prompt = "\n".join(line + stop for line in lines)
    echoed = has_promise(prompt, PROMISE, prompt)
    assert not echoed or prompt.replace(PROMISE, "").strip(".!: \n") == "", "only a prompt that is all promise"
    assert has_promise(
        f"{prompt}\n\nThe parser is mended, and all of its tests pass now.\n\n{PROMISE}", PROMISE, prompt
    )


def slow_marker(text: str, marker: str) -> bool:
    """The obvious reading, line by line: the last line that is not blank, outside code blocks."""
    fence, last = "", False
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        bare = line.strip(" \t")
        if not bare:
            continue
        last = False
        if fence:
            if set(bare) == {fence[0]} and len(bare) >= len(fence):
                fence = ""
            continue
        sign = bare[:1]
        run = len(bare) - len(bare.lstrip(sign)) if sign in ("`", "~") else 0
        if run >= 3 and not (sign == "`" and "`" in bare[run:]):
            fence = sign * run
        else:
            last = bare == marker or (bare.startswith(f"{marker[:-1]}:") and bare.endswith("]"))
    return last


LINES = (
    "",
    MARKER,
    f" {MARKER} ",
    "[TASK_COMPLETED: all good]",
    f"so {MARKER}",
    "```",
    "````py",
    "~~~",
    "~~~~",
    "``` x",
    "a`b",
)


@tried()
@given(lines=st.lists(st.sampled_from(LINES), max_size=9), ending=st.sampled_from(("\n", "\r\n", "\r")))
def test_the_marker_is_found_as_by_reading_line_by_line(lines: list[str], ending: str) -> None:
    text = ending.join(lines)
    assert (has_marker(text, MARKER) is not None) is slow_marker(text, MARKER)


@tried()
@given(word=st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs")), min_size=1, max_size=20))
def test_the_word_in_the_marker_comes_back(word: str) -> None:
    assert has_marker(f"[TASK_COMPLETED: {word}]") == MarkerFound(word.strip() or None)
