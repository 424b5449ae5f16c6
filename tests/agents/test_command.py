"""Any program as an agent: real ones are run, with the prompt on their standard input."""

from __future__ import annotations

import subprocess
import sys

import pytest

from untildone.agents import find
from untildone.agents.command.stream import LONGEST_ANSWER
from untildone.core.errors import UsageError
from untildone.core.model import Answer, FailureKind
from untildone.core.plugins.agent_io import Request

COMMAND = find("command")
NOW = 1763208000.0


def run(command: str, prompt: str = "do it", **request: str) -> Answer:
    asked = Request(prompt, command=command, **request)  # type: ignore[arg-type]
    invocation, reader = COMMAND.invocation(asked), COMMAND.reader(asked)
    done = subprocess.run(invocation.argv, input=invocation.stdin, capture_output=True, timeout=30, check=False)
    for line in done.stdout.splitlines():
        reader.feed(line)
    return reader.finish(done.returncode, done.stderr.decode(), NOW)


def test_the_prompt_goes_in_and_the_answer_comes_out() -> None:
    answer = run("cat", prompt="--help\nsecond line; $(id)")
    assert (answer.text, answer.failure, answer.exit_code) == ("--help\nsecond line; $(id)", None, 0)
    assert answer.session_id is None


def test_the_system_prompt_comes_first() -> None:
    assert run("cat", prompt="task", system_prompt="rules").text == "<instructions>\nrules\n</instructions>\n\ntask"


def test_quotes_in_the_command_hold_words_together_and_nothing_is_run_by_a_shell() -> None:
    assert run(f"{sys.executable} -c 'print(\"two words; $HOME\")'").text == "two words; $HOME"


def test_a_failing_program_has_crashed_and_its_last_words_are_kept() -> None:
    answer = run(f'{sys.executable} -c \'import sys; print("half"); sys.exit("error: 401 in test_login")\'')
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.CRASHED
    assert "401 in test_login" in answer.failure.message
    assert (answer.text, answer.exit_code) == ("half", 1)


def test_a_program_that_a_shell_cannot_find_is_unavailable() -> None:
    answer = run("sh -c no-such-program-here")
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.UNAVAILABLE


def test_a_limit_told_as_an_answer_is_a_limit() -> None:
    answer = run("echo 'Claude AI usage limit reached|1763240400'")
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.reset_at) == (FailureKind.LIMIT, 1763240400.0)


def says(output: str, errors: str, code: int) -> Answer:
    reader = COMMAND.reader(Request("go", command="anything"))
    for line in output.splitlines():
        reader.feed(line.encode())
    return reader.finish(code, errors, NOW)


LIMIT = "Usage limit reached. Try again in 5 minutes."


@pytest.mark.parametrize(
    ("output", "errors", "code"),
    [
        ("", LIMIT, 0),
        ("", LIMIT, 1),
        ("half an answer", f"reading the prompt\n{LIMIT}\n", 1),
        ("", "warming up\nYou've hit your usage limit.\nUpgrade to Pro.\n\nTry again in 5 minutes.", 1),
    ],
)
def test_a_limit_that_is_the_last_word_is_a_limit(output: str, errors: str, code: int) -> None:
    failure = says(output, errors, code).failure
    assert failure is not None
    assert (failure.kind, failure.reset_at) == (FailureKind.LIMIT, NOW + 300)


@pytest.mark.parametrize(
    ("output", "errors", "code", "kind"),
    [
        ("It works now.", LIMIT, 0, None),
        ("It works now.", f"{LIMIT}\nGot through.", 0, None),
        ("", f"{LIMIT}\nGot through.", 0, None),
        ("", f"{LIMIT}\nTraceback: no such key", 1, FailureKind.CRASHED),
    ],
)
def test_a_limit_that_the_program_got_over_is_none(
    output: str, errors: str, code: int, kind: FailureKind | None
) -> None:
    failure = says(output, errors, code).failure
    assert (failure and failure.kind) == kind


@pytest.mark.parametrize("line", [b"x" * 99, b"y" * (LONGEST_ANSWER * 3)])
def test_only_the_end_of_a_long_answer_is_kept(line: bytes) -> None:
    reader = COMMAND.reader(Request("go", command="cat"))
    for _ in range(2 * LONGEST_ANSWER // len(line) + 1):
        reader.feed(line)
    reader.feed(b"the end")
    text = reader.finish(0, "", NOW).text
    assert text.endswith("\nthe end") or text == "the end"
    assert len(text) <= LONGEST_ANSWER


def test_output_that_is_no_text_is_replaced() -> None:
    reader = COMMAND.reader(Request("go", command="cat"))
    reader.feed(b"caf\xe9")
    assert reader.finish(0, "", NOW).text == "caf\ufffd"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (None, "needs a program to run"),
        ("", "needs a program to run"),
        ("   ", "needs a program to run"),
        ("''", "needs a program to run"),
        ("say 'hello", "cannot be split into words: No closing quotation"),
    ],
)
def test_a_command_that_cannot_be_run_is_said_so(command: str | None, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as raised:
        COMMAND.invocation(Request("go", command=command))
    assert "--command" in raised.value.hint
