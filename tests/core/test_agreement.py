"""A reviewer's agreement: the drawn word as the whole last line, and nothing that only looks like it."""

from __future__ import annotations

import pytest

from untildone.core.answers.agreement import Agreed, agreeing_line, agreement, digest, instructions, lacks_word, word_in

MARKER, WORD = "[TASK_COMPLETED]", "K7F3QM"
LINE = "[TASK_COMPLETED K7F3QM]"
TOLD = instructions(MARKER, WORD)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (LINE, ""),
        (f"Everything is there.\n\n{LINE}", ""),
        (f"Everything is there.\n{LINE}\n", ""),
        (f"All good.\r\n\r\n{LINE}\r\n\r\n", ""),
        (f"All good.\n\n   {LINE} \t \n \n", ""),
        (f"All good.\n\n**{LINE}**", ""),
        (f"All good.\n\n__{LINE}__\n", ""),
        (f"** {LINE} **", ""),
        (f"{LINE}.", ""),
        (f"# {LINE}", ""),
        (f"{LINE}\u200b\n", ""),
        (f"Verdict:\n{LINE}", ""),
        (f"My verdict:\n\n{LINE}", ""),
        (f"**Verdict:**\n\n{LINE}", ""),
        (f"## Conclusion\n\n{LINE}", ""),
        (f"Fazit:\n{LINE}", ""),
        (f"结论：\n{LINE}", ""),
        (f"一切都完成了。\n\n{LINE}", ""),
        (f"Alles ist fertig, und die Tests bestehen.\n\n{LINE}", ""),
        (f"Tout est fait.\n\n{LINE}", ""),
        (f"Готово.\n\n{LINE}", ""),
        (f"I looked at whether it fails if the file is empty. It does not.\n\n{LINE}", ""),
        (f"The optional rename is not done, as the person said that it need not be.\n\n{LINE}", ""),
        (f"I found no problem.\n\n{LINE}", ""),
        (f"```\npytest: 12 passed\n```\n\n{LINE}", ""),
        (f"> You wrote: [TASK_COMPLETED]\n\nThat is so.\n\n{LINE}", ""),
        (f"You wrote [TASK_COMPLETED] too early in round 1.\n\n{LINE}", ""),
        (f"{TOLD}\n\nI looked at all of it, and it is well done.\n\n{LINE}", ""),
        ("[TASK_COMPLETED K7F3QM: all 12 tests pass]", "all 12 tests pass"),
        ("Good.\n\n[TASK_COMPLETED K7F3QM: see [1]]", "see [1]"),
        ("[TASK_COMPLETED K7F3QM:]", ""),
        ("**[TASK_COMPLETED K7F3QM: well done]**", "well done"),
        ("[TASK_COMPLETED K7F3QM: no open points]", "no open points"),
        ("[TASK_COMPLETED K7F3QM: 全部通过]", "全部通过"),
    ],
)
def test_the_line_as_the_whole_last_line_agrees(answer: str, message: str) -> None:
    assert agreement(answer, MARKER, digest(WORD)) == Agreed(message)


@pytest.mark.parametrize(
    "answer",
    [
        # nothing, or something else
        "",
        " \n ",
        "No.",
        "The tests are weaker than before.",
        "done",
        WORD,
        f"[{WORD}]",
        # the fixed marker proves nothing
        "[TASK_COMPLETED]",
        "Good.\n\n[TASK_COMPLETED]",
        "[TASK_COMPLETED: well done]",
        f"[TASK_COMPLETED: {WORD}]",
        f"[TASK_COMPLETED] {WORD}",
        f"[TASK_COMPLETED]\n{WORD}",
        # another word, an old one, parts of it
        "[TASK_COMPLETED K7F3QN]",
        "[TASK_COMPLETED K7F3Q]",
        "[TASK_COMPLETED K7F3QMX]",
        "[TASK_COMPLETED k7f3qm]",
        "[task_completed K7F3QM]",
        "[TASK_COMPLETED  K7F3QM]",
        "[TASK_COMPLETED]: K7F3QM",
        "[TASK_COMPLETED WORD]",
        "[TASK_COMPLETED {word}]",
        "TASK_COMPLETED K7F3QM",
        "(TASK_COMPLETED K7F3QM)",
        "[TASK_COMPLETED K7F3QM",
        # not alone on its line
        f"I agree: {LINE}",
        f"{LINE} but the docs are missing",
        f"- {LINE}",
        f"1. {LINE}",
        f"| {LINE} |",
        f'"{LINE}"',
        f"“{LINE}”",
        f"<b>{LINE}</b>",
        f"<!-- {LINE} -->",
        f"not {LINE}",
        f"**not {LINE}**",
        f"~~{LINE}~~",
        f"{LINE}?",
        f"{LINE} {LINE}",
        # not the last line
        f"{LINE}\nThat is what I would write. The tests fail.",
        f"You wrote:\n{LINE}\nThat is not so.",
        f"{LINE}\n\nOn second thought, no.",
        f"{LINE}\n---",
        f"{LINE}\n```",
        # in code, in a quotation
        f"`{LINE}`",
        f"```\n{LINE}\n```",
        f"```\n{LINE}",
        f"~~~text\nall is well\n{LINE}",
        f"Like this:\n\n    {LINE}",
        f"Like this:\n\n\t{LINE}",
        f"> {LINE}",
        f">{LINE}",
        f"- ```\n{LINE}",
        # an echo of the instructions
        TOLD,
        TOLD.replace("\n", "\r\n"),
        f"{TOLD}\n\nI shall look now.",
        f"<instructions>\nJudge.\n</instructions>\n\nWhat the person asked:\nMend it.\n\n{TOLD}",
        TOLD[: TOLD.index(LINE) + len(LINE)],
        TOLD[: TOLD.index(LINE) + len(LINE)].replace("exactly so: ", "exactly so:\n"),
        f"write this as the last line, alone on its line\nand exactly so:\n\n{LINE}",
        f"**… alone on its line and exactly so:**\n{LINE}",
        # announced with a condition, denied, quoted
        f"If the tests passed, I would write:\n{LINE}",
        f"Once it is done:\n{LINE}",
        f"When the docs are there, the answer is:\n\n{LINE}",
        f"Until then I will not write:\n{LINE}",
        f"I cannot write this line:\n{LINE}",
        f"I can't write this yet.\n\n{LINE}",
        f"I do not agree.\n{LINE}",
        f"Not yet.\n\n{LINE}",
        f"It is not done.\n\n{LINE}",
        f"The agent wants me to end my answer with the following:\n{LINE}",
        f"The instructions say:\n{LINE}",
        f"For example:\n{LINE}",
        f"You asked for this line:\n{LINE}",
        f"Wenn die Tests bestehen:\n{LINE}",
        f"Noch nicht.\n\n{LINE}",
        f"Nicht:\n{LINE}",
        f"Si les tests passaient :\n{LINE}",
        f"Pas encore.\n\n{LINE}",
        f"Cuando pasen las pruebas:\n{LINE}",
        f"Todavía no.\n\n{LINE}",
        f"Non ancora.\n\n{LINE}",
        f"Если тесты пройдут:\n{LINE}",
        f"Ещё не готово.\n\n{LINE}",
        f"如果测试通过，我会写：\n{LINE}",
        f"还没有完成。\n\n{LINE}",
        f"テストが通れば：\n{LINE}",
        f"まだです。\n\n{LINE}",
        f"아직 아닙니다.\n\n{LINE}",
        "[TASK_COMPLETED K7F3QM: not yet]",
        "[TASK_COMPLETED K7F3QM: once the tests pass]",
        "[TASK_COMPLETED K7F3QM: only if you run the tests]",
        "[TASK_COMPLETED K7F3QM: but the docs are missing]",
        "[TASK_COMPLETED K7F3QM: wenn die Tests bestehen]",
        "[TASK_COMPLETED K7F3QM: a\nb]",
        "[TASK_COMPLETED K7F3QM: a",
        "[TASK_COMPLETED: K7F3QM: a]",
    ],
)
def test_anything_else_is_feedback(answer: str) -> None:
    assert agreement(answer, MARKER, digest(WORD)) is None


@pytest.mark.parametrize(
    ("marker", "line"),
    [("[OK]", "[OK K7F3QM]"), ("ship it", "ship it K7F3QM"), (" DONE ", "DONE K7F3QM"), ("[]", "[] K7F3QM")],
)
def test_the_marker_of_the_settings_stands_before_the_word(marker: str, line: str) -> None:
    assert agreeing_line(marker, WORD) == line
    assert agreement(f"Good.\n\n{line}", marker, digest(WORD)) == Agreed()
    told = instructions(marker, WORD)
    assert f"exactly so: {line}\n" in told
    assert word_in(f"The word of this question is FORGED.\n{told}") == WORD
    assert agreement(told, marker, digest(WORD)) is None
    assert line not in told.splitlines(), "no line of the instructions agrees"


@pytest.mark.parametrize(("marker", "word"), [("", WORD), (" ", WORD), (MARKER, "")])
def test_without_a_marker_or_a_word_nothing_agrees(marker: str, word: str) -> None:
    for answer in ("", " ", WORD, f" {WORD}", "[TASK_COMPLETED ]", "[TASK_COMPLETED]", " ]"):
        assert agreement(answer, marker, digest(word) if word else "") is None


@pytest.mark.parametrize(
    ("answer", "lacks"),
    [
        (MARKER, True),
        (f"Good.\n\n**{MARKER}**\n", True),
        (f"You wrote:\n{MARKER}\nThat is not so.", False),
        (f"`{MARKER}`", False),
        (LINE, False),
        ("", False),
        ("No.", False),
    ],
)
def test_the_marker_alone_as_the_last_line_lacks_the_word(answer: str, lacks: bool) -> None:
    assert lacks_word(answer, MARKER) is lacks


@pytest.mark.parametrize("piece", ["\n", "`", "```\n", "a: ", "not ", ": \n", "** ", "「", "\r"])
def test_a_hostile_answer_of_a_million_characters_is_read_in_one_pass(piece: str) -> None:
    flood = piece * (1_000_000 // len(piece))
    assert agreement(f"{flood}\n~~~\n{LINE}", MARKER, digest(WORD)) is None
    assert agreement(f"{flood}{LINE}{flood}x", MARKER, digest(WORD)) is None
