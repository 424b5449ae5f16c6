"""workflow: a state machine of actions: init, develop, debug, validate, complete."""
