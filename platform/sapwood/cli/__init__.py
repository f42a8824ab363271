"""The command line: turns a person's request into a call of `Memory`."""
