"""What the user asked for: every option of a run, declared once, and where each value came from."""
