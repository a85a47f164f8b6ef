"""Old names of the command line."""
