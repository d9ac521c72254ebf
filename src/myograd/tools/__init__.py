"""Whole tools: from recordings to a result, with all checks. Nothing here prints, reads the clock, or writes files other than
checkpoints; callbacks are told about progress."""
