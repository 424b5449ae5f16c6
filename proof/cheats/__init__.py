"""Agents that want `verified` without doing the job, or something else that is not theirs: each a few lines, each judged from outside."""
