"""What will be run: a plan, then a command line and an environment."""
