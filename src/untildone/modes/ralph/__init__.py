"""ralph: repeat the task until the agent makes the promise."""
