"""Controlling loops: pause, messages, limits, subtasks, deletion."""
