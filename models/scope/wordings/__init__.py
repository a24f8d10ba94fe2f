"""The wordings of edits: as their blocks store them, and as columns that all versions of a process share."""
