"""What people and programs touch: the command line, the API, the dashboard."""
