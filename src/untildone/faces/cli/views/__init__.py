"""What people see and answer at the terminal: the live view, plain lines, menus, the end of a loop."""
