"""The parts of the worker's prompts in the mode supervise, beside the words of the supervisor."""

from __future__ import annotations

CUT_SHORT = "Your last turn was cut short. Go on with the task until it is done."
FROM_PERSON = "A message from the person:\n{text}"
ALREADY_UNDER_WAY = "You take over work that is under way: look at the files first, and keep what is good."
LAST_ANSWER = "The last message of the agent before you:\n{text}"
FEEDBACK = "What the supervisor asks for:\n{text}"
