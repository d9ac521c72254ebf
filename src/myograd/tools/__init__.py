"""Whole tools: from recordings to a result, with all checks. Nothing here prints, reads the clock, or writes files other than
checkpoints; progress is passed to callbacks."""
