"""Lines of a flood are passed on together: none is lost, moved or changed."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from untildone.agents import find
from untildone.core.plugins.agent_io import Request, Said
from untildone.system.program.lines import FLOOD, LineFramer

ENDINGS = st.sampled_from((b"\n", b"\r\n"))
FEW = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"").rstrip(b"\r")), max_size=20)
MANY = st.integers(FLOOD, FLOOD * 4).map(lambda number: [b"%d" % line for line in range(number)])
OUTPUTS = st.builds(
    lambda lines, ending, last: ending.join((*lines, last)),
    st.lists(st.one_of(FEW, MANY), max_size=6).map(lambda parts: [line for part in parts for line in part]),
    ENDINGS,
    st.sampled_from((b"", b"no line end")),
)


def handed_on(output: bytes, cuts: list[int], *, together: bool) -> list[bytes]:
    pieces: list[bytes] = []
    framer = LineFramer(pieces.append, together=together)
    places = [0, *sorted(cut % (len(output) + 1) for cut in cuts), len(output)]
    for start, end in pairwise(places):
        framer.feed(output[start:end])
    framer.finish()
    return pieces


@given(OUTPUTS, st.lists(st.integers(0, 10_000), max_size=5))
def test_together_or_one_by_one_it_is_the_same_text(output: bytes, cuts: list[int]) -> None:
    lines = handed_on(output, cuts, together=False)
    pieces = handed_on(output, cuts, together=True)
    assert b"\n".join(pieces) == b"\n".join(lines)
    assert all(b"\n" not in line for line in lines)


@given(OUTPUTS)
def test_together_or_one_by_one_the_answer_is_the_same(output: bytes) -> None:
    answers = []
    for together in (False, True):
        reader = find("command").reader(Request("go", command="program"))
        events = [event for piece in handed_on(output, [], together=together) for event in reader.feed(piece)]
        said = [event for event in events if isinstance(event, Said)]
        answers.append(
            (reader.finish(0, "", 0.0), sum(each.lines for each in said), "\n".join(each.text for each in said))
        )
    assert answers[0] == answers[1]


def test_a_flood_is_passed_on_in_few_pieces_and_slow_output_line_by_line() -> None:
    flood, trickle = b"a line\n" * 5000, b"a line\n" * 5
    assert len(handed_on(flood, [], together=True)) == 2
    assert len(handed_on(flood, [], together=False)) == 5000
    assert len(handed_on(trickle, [], together=True)) == 5
