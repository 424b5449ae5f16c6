"""Harmless tries to get out of the box of an agent, each in a scratch home with secrets, sockets and processes to reach."""
