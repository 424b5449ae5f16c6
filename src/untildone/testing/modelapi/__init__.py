"""A scripted model API: answers real agent programs from a list of steps, without an account.

with ModelAPI([Step(text="hello")]) as api:
    run(["claude", "-p", "hi"], env=environment("claude", api.url, home))
    assert api.turns[0].user_text == "hi"
"""

from untildone.testing.modelapi.checking import ScriptError, parse_steps
from untildone.testing.modelapi.environments import environment
from untildone.testing.modelapi.record import Request
from untildone.testing.modelapi.script import DEFAULT_TEXT, read_script
from untildone.testing.modelapi.server import ModelAPI
from untildone.testing.modelapi.steps import Fault, Step, ToolCall, Usage, subscription_limit

__all__ = [
    "DEFAULT_TEXT",
    "Fault",
    "ModelAPI",
    "Request",
    "ScriptError",
    "Step",
    "ToolCall",
    "Usage",
    "environment",
    "parse_steps",
    "read_script",
    "subscription_limit",
]
