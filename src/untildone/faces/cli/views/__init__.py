"""The output and input at the terminal: live view, plain lines, JSON lines, menus, the end of a loop."""
