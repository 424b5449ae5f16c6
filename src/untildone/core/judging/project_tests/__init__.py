"""The tests of a project: how many there are, who decides which of them run, and which are kept back from the agent."""
