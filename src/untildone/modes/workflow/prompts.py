"""What the actions of the workflow ask for. A file of the same name in `.loop/actions/` replaces one."""

from __future__ import annotations

INIT = """Look at the task and at the workspace. Change nothing yet. Break the task into develop tasks that can each be done and
checked on their own, in the order in which they should be done. Answer with all of them in
`skillStateUpdates.develop.tasks`, each `{"id": "t1", "text": "…", "status": "pending"}`."""

DEVELOP = """Do the first pending develop task; go on with the next ones as far as it makes sense in one go. Tell in
`skillStateUpdates.develop.tasks` what became of each task that you touched: `completed`, or `failed` if it does not work and you
do not know why yet. New work that you found is a new task with status `pending`. `message` says what you did: it is kept in
progress.md."""

DEBUG = """Something does not work and the reason is not known. Work with hypotheses: say what could be the cause, gather evidence,
rule out what the evidence contradicts. Answer in `skillStateUpdates.debug` with `hypotheses` (a list of
`{"text": "…", "status": "open" | "confirmed" | "ruled_out", "evidence": "…"}`) and `confirmed_hypothesis` (the text of the one that
the evidence confirms, or null). If you fixed the cause, set the tasks that now work to `completed`. `message` says what you
understood: it is kept in understanding.md."""

VALIDATE = """Validate the work as a stranger would: run the tests, try it, compare with the task. Do not fix anything now. Answer in
`skillStateUpdates.validate` with `passed` (true or false) and `failures` (a list of what is wrong, one sentence each; empty if it
passed). `message` says what you ran and saw: it is kept in validation.md."""

COMPLETE = """Everything is developed and validated. Take a last look: leave no debris, no half-written file. Answer with a `message` that
tells the person in a few sentences what was done."""

INSTRUCTIONS = {"init": INIT, "develop": DEVELOP, "debug": DEBUG, "validate": VALIDATE, "complete": COMPLETE}

OPEN = """It is not complete while tasks are open: {names}. Do them, and tell which are `completed`."""

CONTROL = """Before you begin, look at `status` in the state above: go on only if it is `running`. Never write to the state file yourself:
what you answer is what gets written."""

RETURN = """Answer with one JSON object, and nothing after it:
{"skillStateUpdates": { … only what changed … }, "continue": true, "message": "for the person, in a few sentences"}
`continue` false asks for the loop to pause: say in `message` what only a person can decide."""

NOT_VALIDATED = "complete comes after a passed validation, with no task open: choose validate first."
