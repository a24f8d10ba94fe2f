"""Commands for the worklist and for proposals."""
