"""Runs one program: its start, its input and output, its end."""
