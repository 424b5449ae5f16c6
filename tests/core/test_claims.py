"""Claims, by tables: the last thing said counts, and talk about it does not. `test_final_messages.py` measures it on a corpus."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.core.answers.claims import MarkerFound, has_marker, has_promise
from untildone.core.answers.last_line import normal, unix_lines

PROMISE = "<promise>COMPLETE</promise>"

CLAIMS = {
    "alone": PROMISE,
    "at the end of a sentence": f"All tests pass. {PROMISE}",
    "after a sentence without a blank": f"全部通过。{PROMISE}",
    "after a sentence in brackets": f"All tests pass (12 of 12). {PROMISE}",
    "after a check mark": f"All tests pass ✅ {PROMISE}",
    "in bold": f"**{PROMISE}**",
    "in a heading": f"# {PROMISE}",
    "indented by three": f"   {PROMISE}",
    "windows lines": f"done\r\n\r\n{PROMISE}\r\n",
    "after a closed code block": f"```\nx = 1\n```\n{PROMISE}",
    "after a code block closed by a longer fence": f"```\nx\n`````\n{PROMISE}",
    "after a tilde block that holds a backtick fence": f"~~~\n```\n~~~\n{PROMISE}",
    "after a code block that ends in a colon": f"```\nkey:\n```\n{PROMISE}",
    "after an inline code": f"I ran `pytest -q`. {PROMISE}",
    "backticks that never close above it": f"a ` stray one\n\n{PROMISE}",
    "below a quotation": f"> you asked for it\n{PROMISE}",
    "talked about, then made": f"I shall say `{PROMISE}` now.\n\n{PROMISE}",
    "announced, then made": f"When it is done I will say {PROMISE}. It is done.\n\n{PROMISE}",
    "denied, then made": f"At first it was not yet {PROMISE}.\nNow it is.\n{PROMISE}",
    "after a sentence that denies something else": f"The build does not fail any more. {PROMISE}",
    "alone below a sentence about the future": f"I will not touch it again.\n{PROMISE}",
    "below a line of a program": f"step 3 of 3 done\n{PROMISE}",
    "below dots": f"Working on task...\n{PROMISE}",
}

TALK = {
    "nothing": "",
    "another promise": "<promise>DONE</promise>",
    "other case": PROMISE.lower(),
    "in the middle of a line": f"so: {PROMISE}!",
    "in a list": f"- tests pass\n- {PROMISE}",
    "in a list with stars": f"* tests pass\n* {PROMISE}",
    "after a sentence in a list": f"1. Run the tests.\n2. All pass. {PROMISE}",
    "after a sentence in a quotation": f"> All pass. {PROMISE}",
    "after an abbreviation": f"At the end comes the promise, e.g. {PROMISE}",
    "after dots": f"I wait for the tests... {PROMISE}",
    "as code, by indentation": f"    {PROMISE}",
    "as code, by a tab": f" \t{PROMISE}",
    "in a table": f"| {PROMISE} |",
    "before another line": f"Working on task...\n{PROMISE}\nDone.",
    "between two inline codes": f"`a` {PROMISE} `b`",
    "in backticks": f"I will print `{PROMISE}` when it is done.",
    "in double backticks": f"I will print ``{PROMISE}`` later.",
    "in backticks over two lines": f"I will print `the text\n{PROMISE}` later.",
    "in backticks with blanks": f"` {PROMISE} `",
    "in a code block": f"```\n{PROMISE}\n```",
    "in a code block with a language": f"```python\nprint('{PROMISE}')\n```\nNot yet.",
    "in a tilde block": f"~~~ text\n{PROMISE}\n~~~",
    "in a block that never closes": f"```\nfoo\n\n{PROMISE}",
    "in an indented block": f"1. like this\n\n   ```\n   {PROMISE}\n   ```\n",
    "in a block that starts in a list item": f"- ```\n  {PROMISE}\n  ```",
    "in a block whose fence is too short to close": f"````\n```\n{PROMISE}",
    "in a block that tildes do not close": f"```\n~~~\n{PROMISE}",
    "in a windows code block": f"```\r\n{PROMISE}\r\n```\r\n",
    "in a quotation": f"> {PROMISE}",
    "in a nested quotation": f"> > {PROMISE}",
    "in an indented quotation": f"  >{PROMISE}",
    "in a quotation in a list": f"- > {PROMISE}",
    "announced": f"When it is done I will say {PROMISE}",
    "announced on the line above": f"Once all tests pass, I will print:\n\n{PROMISE}",
    "announced above a horizontal rule": f"Once all tests pass, I will print:\n\n---\n\n{PROMISE}",
    "announced with a dash": f"And then, at last —\n{PROMISE}",
    "a condition": f"Once the tests pass: {PROMISE}",
    "alone in quotation marks": f'"{PROMISE}"',
    "denied": f"not yet {PROMISE}",
    "asked": f"{PROMISE}? No, two tests fail.",
    "with a question mark": f"{PROMISE}?",
    "with a cross": f"❌ {PROMISE}",
    "struck through": f"~~{PROMISE}~~",
    "in a line too long to be read": f"{'All is well. ' * 1000}{PROMISE}",
}


@pytest.mark.parametrize("message", CLAIMS.values(), ids=CLAIMS.keys())
def test_the_promise_in_the_agents_own_words_is_a_claim(message: str) -> None:
    assert has_promise(message, PROMISE)


@pytest.mark.parametrize("message", TALK.values(), ids=TALK.keys())
def test_talk_about_the_promise_is_none(message: str) -> None:
    assert not has_promise(message, PROMISE)


@pytest.mark.parametrize(
    ("message", "promise", "claimed"),
    [
        ("DONE", "DONE", True),
        ("It is DONE.", "DONE", False),
        ("It works. DONE.", "DONE", True),
        ("**DONE**", "DONE", True),
        ("UNDONE", "DONE", False),
        ("DONE_LATER", "DONE", False),
        ("`DONE` is not yet true", "DONE", False),
        ("任务完成了", "完成", False),
        ("任务结束。\n完成", "完成", True),
        ("Nearly DONE", "DONE", False),
        ("task:ok!", "task:ok", True),
        ("Status: DONE", "Status: DONE", True),
        ("`DONE`", "`DONE`", True),
        ("`` `DONE` ``", "`DONE`", False),
        ("```\nDONE\n```", "```\nDONE\n```", True),
        ("````\n```\nDONE\n```\n````", "```\nDONE\n```", False),
        ("> DONE", "> DONE", True),
        ("- DONE", "- DONE", True),
        (">>>DONE<<<", ">>>DONE<<<", True),
        ("All is well.\nDONE", "All is well.\nDONE", True),
        ("All is well.\r\nDONE", "All is well.\nDONE", True),
        ("All is well. DONE", "All is well.\nDONE", False),
        ("> All is well.\n> DONE", "All is well.\nDONE", False),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
        ("✅", "✅", True),
        ("anything", "", False),
        ("any thing", " ", False),
        ("a\nb", "\n", False),
    ],
)
def test_any_string_can_be_the_promise(message: str, promise: str, claimed: bool) -> None:
    assert has_promise(message, promise) is claimed


SENTENCE = f"When all tests pass, answer {PROMISE} and stop."
LONG = f"Fix the tests. {SENTENCE} Do not stop before."
DICTATED = f"Mend the parser.\n\nWhen all is done, your last line must be:\n{PROMISE}\n\nDo not touch the tests."


@pytest.mark.parametrize(
    ("message", "prompt", "claimed"),
    [
        (SENTENCE, SENTENCE, False),
        (f"You told me: {SENTENCE} I am not there yet.", SENTENCE, False),
        (f"  {SENTENCE}\n\nFirst I look around.", LONG, False),
        (f"{SENTENCE}\n\nAll tests pass.\n{PROMISE}", LONG, True),
        (f"All tests pass. {PROMISE}", LONG, True),
        (PROMISE, DICTATED, True),
        (f"The parser is mended.\n{PROMISE}", DICTATED, True),
        (DICTATED, DICTATED, False),
        (f"Your words:\n\nWhen all is done, your last line must be:\n{PROMISE}\nI begin.", DICTATED, False),
        (f"{PROMISE}\n\nDo not touch the tests.", DICTATED, False),
        (f"{DICTATED}\n\nIt is done now.\n\n{PROMISE}", DICTATED, True),
        (DICTATED.replace("\n", "\r\n"), DICTATED, False),
        (PROMISE, PROMISE, True),
        (f"Say {PROMISE}", f"Say {PROMISE}", False),
        (PROMISE, f"Say {PROMISE}", True),
        ("DONE", "End your answer with this line:\nDONE", True),
        ("End your answer with the following line\nDONE", "End your answer with the following line\nDONE", False),
        (f"完成之后请在最后一行写上\n{PROMISE}", f"修好它。完成之后请在最后一行写上\n{PROMISE}", False),
        (f"修好了。\n{PROMISE}", f"修好它。完成之后请在最后一行写上\n{PROMISE}", True),
        (f"done. {PROMISE}", "a prompt that says nothing of it", True),
    ],
)
def test_an_echo_of_the_prompt_is_no_claim(message: str, prompt: str, claimed: bool) -> None:
    promise = PROMISE if PROMISE in message else "DONE"
    assert has_promise(message, promise, prompt) is claimed


@pytest.mark.parametrize(
    ("text", "marker", "found"),
    [
        ("[TASK_COMPLETED]", "[TASK_COMPLETED]", MarkerFound()),
        ("Good work.\n\n  [TASK_COMPLETED]\t\n", "[TASK_COMPLETED]", MarkerFound()),
        ("a\r\n[TASK_COMPLETED]\r\n", "[TASK_COMPLETED]", MarkerFound()),
        ("Good work. [TASK_COMPLETED]", "[TASK_COMPLETED]", MarkerFound()),
        ("**[TASK_COMPLETED]**", "[TASK_COMPLETED]", MarkerFound()),
        ("［TASK_COMPLETED：全部通过］", "[TASK_COMPLETED]", MarkerFound("全部通过")),
        ("[TASK_COMPLETED].", "[TASK_COMPLETED]", MarkerFound()),
        ("[TASK_COMPLETED: all 12 tests pass]", "[TASK_COMPLETED]", MarkerFound("all 12 tests pass")),
        ("[TASK_COMPLETED: see [1]]", "[TASK_COMPLETED]", MarkerFound("see [1]")),
        ("[TASK_COMPLETED:]", "[TASK_COMPLETED]", MarkerFound()),
        ("```\n[TASK_COMPLETED]\n```\n[TASK_COMPLETED: now]", "[TASK_COMPLETED]", MarkerFound("now")),
        ("Not [TASK_COMPLETED] yet\n[TASK_COMPLETED]", "[TASK_COMPLETED]", MarkerFound()),
        ("ALL GOOD", "ALL GOOD", MarkerFound()),
        ("x\n ALL GOOD \n", "ALL GOOD", MarkerFound()),
        ("x\n ALL GOOD \ny", "ALL GOOD", None),
        ("[TASK_COMPLETED]\nBye", "[TASK_COMPLETED]", None),
        ("[OK: yes]", "[OK]", MarkerFound("yes")),
        ("", "[TASK_COMPLETED]", None),
        ("say [TASK_COMPLETED] when done", "[TASK_COMPLETED]", None),
        ("`[TASK_COMPLETED]`", "[TASK_COMPLETED]", None),
        ("> [TASK_COMPLETED]", "[TASK_COMPLETED]", None),
        ("[TASK_COMPLETED", "[TASK_COMPLETED]", None),
        ("[TASK_COMPLETED: a\nb]", "[TASK_COMPLETED]", None),
        ("[TASK_COMPLETED_NOT]", "[TASK_COMPLETED]", None),
        ("[task_completed]", "[TASK_COMPLETED]", None),
        ("```\n[TASK_COMPLETED]\n```", "[TASK_COMPLETED]", None),
        ("~~~\n[TASK_COMPLETED]", "[TASK_COMPLETED]", None),
        ("ALL GOOD: really", "ALL GOOD", None),
        ("anything", "", None),
        ("[]", "[]", MarkerFound()),
    ],
)
def test_the_marker_counts_as_the_promise_does(text: str, marker: str, found: MarkerFound | None) -> None:
    assert has_marker(text, marker) == found


ORDERS = """\
Judge the work. If everything is done and done well, answer with this line, with nothing else on it:
[TASK_COMPLETED]
or, to add a word for the person, with this one:
[TASK_COMPLETED: your message]
If not, leave that line out. Whatever you write instead is sent to the agent."""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ORDERS, None),
        (ORDERS.replace("\n", "\r\n"), None),
        (f"My orders are these.\n\n{ORDERS}\n\nI shall look now.", None),
        ("answer with this line, with nothing else on it:\n\n[TASK_COMPLETED]", None),
        ("If done well,\nanswer with this line, with\nnothing else on it:\n[TASK_COMPLETED]\nThe tests fail.", None),
        ("**Answer with this line, with nothing else on it:**\n[TASK_COMPLETED]", None),
        ("[TASK_COMPLETED]\nor, to add a word for the person, with this one:", None),
        ("[TASK_COMPLETED: your message]\nIf not, leave that line out.", None),
        ("[TASK_COMPLETED]", MarkerFound()),
        ("Everything is done and done well.\n[TASK_COMPLETED]", MarkerFound()),
        ("The tests pass, and the docs are there.\n[TASK_COMPLETED]", MarkerFound()),
        (f"{ORDERS}\n\nI looked, and it is all there.\n\n[TASK_COMPLETED: well done]", MarkerFound("well done")),
    ],
)
def test_repeated_orders_are_no_marker(text: str, found: MarkerFound | None) -> None:
    assert has_marker(text, "[TASK_COMPLETED]", ORDERS) == found


def test_an_echo_is_one_however_its_lines_are_broken() -> None:
    prompt = f"Mend the parser.\nWhen all of it is done, your last line must be:\n{PROMISE}\n"
    assert not has_promise(f"When all of it is done,\nyour last line must be:\n{PROMISE}\n", PROMISE, prompt)


HOSTILE = [
    "`",
    "`a",
    "``a`",
    "> \n",
    "```\n",
    "\n",
    "\\`",
    "- ",
    " ",
    PROMISE + "\n",
    "~~~\n```\n",
    "a ` b\n",
    "[TASK_COMPLETED",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_message_of_a_million_characters_is_read_in_one_pass(piece: str) -> None:
    flood = piece * (1_000_000 // len(piece))
    assert not has_promise(f"{flood}`\n\n~~~\n{PROMISE}", PROMISE, DICTATED)
    assert not has_promise(f"{PROMISE}\n{flood}x", PROMISE, DICTATED)
    assert has_marker(f"{flood}\n\n~~~\n[TASK_COMPLETED]", prompt=ORDERS) is None


def test_many_mentions_in_one_line_or_under_many_blank_lines_are_read_in_one_pass() -> None:
    assert not has_promise("`" + PROMISE * 40_000 + "`", PROMISE, DICTATED)
    assert has_promise("\n" * 500_000 + PROMISE + " " * 500_000, PROMISE, DICTATED)
    assert not has_promise(f"I will not say {PROMISE} " * 20_000, PROMISE, DICTATED)
    assert not has_promise("```\n" + "✅\n" * 300_000, "✅", "Write this when done:\n✅\n")


TEXT = st.text("`~> \n\\-#|ab1.", max_size=40)


@given(TEXT)
def test_after_a_blank_line_the_promise_counts_unless_a_fence_is_open_or_a_line_introduces_it(before: str) -> None:
    open_fence = any(line.lstrip(" -1.").startswith(("```", "~~~")) for line in before.split("\n"))
    assert open_fence or "-" in before or has_promise(f"{before}\n\n{PROMISE}", PROMISE)


@given(TEXT, TEXT)
def test_a_fenced_promise_never_counts(before: str, after: str) -> None:
    fence = "`" * 41
    assert not has_promise(f"{before.replace('`', '').replace('~', '')}\n\n{fence}\n{PROMISE}\n{after}", PROMISE) or (
        fence in after
    )


@given(st.text(), st.text(max_size=5), st.text())
def test_no_text_breaks_it_and_a_claim_always_holds_the_promise(message: str, promise: str, prompt: str) -> None:
    if has_promise(message, promise, prompt):
        assert normal(unix_lines(promise).strip()) in normal(unix_lines(message))
    has_marker(message, promise)
