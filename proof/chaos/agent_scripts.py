"""Random scripts for the scripted agent: good turns with misbehaviour between them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

Turn = dict[str, Any]
MARKER, AGREED = "[TASK_COMPLETED]", "[TASK_COMPLETED {word}]"
"""What an instructor ends with, and a reviewer: the agent fills in the word that its prompt names."""
FUGITIVE = "fugitive-"
"""Begins a word on the command lines of processes that leave parents, session and environment at once."""
_LIVES = 'trap "" TERM HUP INT; while :; do sleep 1; done'
FORKS_OUT = (
    f"(setsid env -i sh -c '{_LIVES}' WORD >/dev/null 2>&1 </dev/null &)",
    f"(setsid sh -c 'env -i setsid sh -c \"$0\" \"$1\" & exit' '{_LIVES}' WORD >/dev/null 2>&1 </dev/null &)",
    f"(env -i setsid sh -c 'kill -STOP $$; {_LIVES}' WORD >/dev/null 2>&1 </dev/null &)",
)
"""Commands that start a process, WORD on its command line, which leaves its parents, its session and its environment. The last one stops
itself as well."""
GARBAGE = ("Segmentation fault?", '{"event": "answer", "text": ', "\x00\x1b[31m", "[]", "null", '{"event": 7}')


def files(story: int) -> dict[str, str]:
    """The names of the files that the agents of a story write, by purpose."""
    return {"work": f"work-{story}.md", "proof": f"proof-{story}.txt", "children": f"children-{story}.txt"}


def script(mode: str, story: int, dice: Random) -> list[Turn]:
    build = {"ralph": _ralph, "supervise": _supervise, "instruct": _instruct, "workflow": _workflow, "phases": _phases}
    return build[mode](story, dice)


def fugitive(story: int) -> str:
    """The word, followed by the folder of its agent, on the command lines of processes that an agent of this story loses."""
    return f"{FUGITIVE}{story}-"


def forking_out(turns: list[Turn], story: int, dice: Random) -> list[Turn]:
    """The turns, most of which also start a process that forks out of everything. Only a box ends such a process for certain."""
    return [_forking_out(turn, story, dice) if "run" not in turn and dice.random() < 0.6 else turn for turn in turns]


def _forking_out(turn: Turn, story: int, dice: Random) -> Turn:
    command = dice.choice(FORKS_OUT).replace("WORD", f'"{fugitive(story)}$PWD"')
    return {**turn, "run": ["sh", "-c", command]}


def work(story: int, text: str = "I did step {call}; there is more to do.") -> Turn:
    return {"sleep": 0.5, "append": {files(story)["work"]: "step {call}\n"}, "say": text}


def work_without_file(story: int) -> Turn:
    """The same turn without its file change, for turns that write something else."""
    return {name: value for name, value in work(story).items() if name != "append"}


def prove(story: int, dice: Random, **more: Any) -> Turn:
    """A turn that completes the task."""
    names = files(story)
    moment = {"sleep": round(dice.uniform(0.3, 1.5), 2)}
    return {**moment, "append": {names["work"]: "step {call}\n", names["proof"]: "done\n"}, **more}


def misbehaviour(story: int, dice: Random) -> Turn:
    """A random bad turn."""
    kinds = _kinds(story, dice)
    return dice.choices([turn for _, turn in kinds], weights=[weight for weight, _ in kinds])[0]


def _kinds(story: int, dice: Random) -> list[tuple[int, Turn]]:
    child = {
        "seconds": 600,
        "pid_file": files(story)["children"],
        "ignore_term": dice.random() < 0.5,
        "keep_output": dice.random() < 0.3,
    }
    return [
        (4, {"say": "Everything is finished.", "claim": True}),
        (2, {"say": "I am thinking about it."}),
        (2, {"flood": dice.randrange(10_000, 600_000), **work(story)}),
        (1, {"huge_line": dice.randrange(100_000, 3_000_000), **work(story)}),
        (3, {**work(story), "crash": dice.choice([True, 11, 6])}),
        (2, {"say": "I shall think about it.", "ignore_term": dice.random() < 0.5, "hang": True}),
        (4, {"child": child, **work(story)}),
        (2, {"fail": {"kind": "limit", "message": "usage limit reached", "reset_in": 1}}),
        (1, {"fail": {"kind": "limit", "message": "usage limit reached"}}),
        (2, {"fail": dice.choice(["overloaded", "timeout", "malformed", "context_full"])}),
        (3, {"garbage": dice.sample(GARBAGE, 3), "exit": dice.choice([0, 0, 3, 255])}),
        (6, {**work(story), "think": "Slowly.", "sleep": round(dice.uniform(0.2, 1.5), 2)}),
        (4, {"ignore_term": dice.random() < 0.5, **work(story), "sleep": 2.5}),
        (3, {"usage": {"tokens": 1000, "cost_usd": 0.01}, **work(story)}),
        (4, {"echo": True}),
        (2, {**work(story), "run": ["git", "gc", "--quiet", "--prune=now"]}),
        (2, {"append": {".gitignore": f"*.log\n{files(story)['work']}\n"}, **work_without_file(story)}),
    ]


def lane(story: int, dice: Random, condition: Mapping[str, str], *good: Turn, most_bad: int = 1) -> list[Turn]:
    """Turns for the prompts that match `condition`: the good ones with bad ones before them. The last turn repeats."""
    turns = list(good)
    for _ in range(dice.randint(0, most_bad)):
        turns.insert(dice.randrange(len(turns)), misbehaviour(story, dice))
    return [{**condition, **turn} for turn in turns]


def _reviewer(story: int, dice: Random, most: int = 2) -> list[Turn]:
    feedback: list[Turn] = [{"say": f"Where is part {number}?"} for number in range(dice.randint(0, most))]
    agreed = {"say": f"Good.\n\n{AGREED}"}
    meddling = dice.choice([[], [], *([each] for each in _meddling(story))])
    return lane(story, dice, {"match_system": "You are the supervisor"}, *feedback, *meddling, agreed)


def _meddling(story: int) -> list[Turn]:
    """Turns of a reviewer that edits the workspace instead of only judging it."""
    names = files(story)
    return [
        {"echo": True},
        {"append": {names["work"]: "a reviewer's own step\n"}, "say": "I did it myself; do more."},
        {"delete": [names["proof"]], "say": f"Tidied up.\n\n{AGREED}"},
        {"write": {names["proof"]: "not yet\n"}, "say": f"Good.\n\n{AGREED}"},
    ]


def _steps(story: int, dice: Random) -> list[Turn]:
    return [work(story) for _ in range(dice.randint(2, 5))]


def _ralph(story: int, dice: Random) -> list[Turn]:
    last = prove(story, dice, say="That was the last step.", claim=True)
    return [*_reviewer(story, dice), *lane(story, dice, {}, *_steps(story, dice), last, most_bad=6)]


def _supervise(story: int, dice: Random) -> list[Turn]:
    built = prove(story, dice, say="Built as asked.")
    return [*_reviewer(story, dice, most=5), *lane(story, dice, {}, *_steps(story, dice), built, most_bad=6)]


def _instruct(story: int, dice: Random) -> list[Turn]:
    orders: list[Turn] = []
    for number in range(40):
        orders += [{"say": f"Do step {number}."}] * dice.randint(1, 4) + [{"say": MARKER}]
    leads = lane(story, dice, {"match_system": "You are the instructor"}, *orders)
    works = lane(story, dice, {}, *_steps(story, dice), prove(story, dice, say="Done."), most_bad=5)
    return [*_reviewer(story, dice), *leads, *works]


def _answer(**fields: Any) -> str:
    """An answer that ends in a JSON object."""
    return f"This is what I did.\n{json.dumps(fields)}"


def _workflow(story: int, dice: Random) -> list[Turn]:
    def action(name: str, *good: Turn, most_bad: int = 1) -> list[Turn]:
        return lane(story, dice, {"match": f"You are executing {name} for loop"}, *good, most_bad=most_bad)

    def updated(updates: Mapping[str, Any], message: str = "Did it.") -> dict[str, str]:
        return {"say": _answer(skillStateUpdates=updates, **{"continue": True}, message=message)}

    def tasks(status: str, *names: str) -> dict[str, str]:
        return updated({"develop": {"tasks": [{"id": name, "text": f"Do {name}", "status": status} for name in names]}})

    names = [f"t{number}" for number in range(dice.randint(2, 4))]
    steps = [{**work(story), **tasks("completed", name)} for name in names[:-1]]
    return [
        *_reviewer(story, dice),
        *action("init", tasks("pending", *names)),
        *action("develop", *steps, {**prove(story, dice), **tasks("completed", *names)}, most_bad=4),
        *action("debug", updated({"debug": {"confirmed_hypothesis": "a typo"}})),
        *action("validate", updated({"validate": {"passed": True, "failures": []}})),
        *action("complete", updated({}, "It is there.")),
        work(story),
    ]


def _phases(story: int, dice: Random) -> list[Turn]:
    def phase(name: str, *good: Turn, most_bad: int = 1) -> list[Turn]:
        return lane(story, dice, {"match": rf"phase \d of \d: {name}"}, *good, most_bad=most_bad)

    def done(*names: str) -> dict[str, str]:
        return {"say": _answer(subtasks=[{"id": name, "status": "completed"} for name in names], phase_done=True)}

    names = [f"s{number}" for number in range(dice.randint(2, 4))]
    plan = _answer(phase_done=True, subtasks=[{"id": name, "text": f"Do {name}"} for name in names])
    steps = [{**work(story), "say": _answer(subtasks=[{"id": name, "status": "completed"}])} for name in names[:-1]]
    all_done = {"say": _answer(phase_done=True, route="ralph", review_score=95, summary="Did it.")}
    return [
        *_reviewer(story, dice),
        *phase("Deep analysis", {"say": _answer(phase_done=True, summary="Some parts.")}),
        *phase("Planning", {"say": plan}),
        *phase("Implementation", {**prove(story, dice), **done(*names)}),
        *phase("Subtasks", *steps, {**prove(story, dice), **done(*names)}, most_bad=4),
        *phase("(Comprehensive r|R)eview", {"say": _answer(phase_done=True, review_score=95)}),
        *lane(story, dice, {}, {**prove(story, dice), **all_done}, most_bad=2),
    ]
