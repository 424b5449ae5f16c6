"""An agent of the Agent Client Protocol: a prompt in an editor is a loop. Needs the extra `acp`."""
