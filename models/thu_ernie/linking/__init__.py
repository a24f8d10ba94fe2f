"""Links from forms of a question to entities, which edits add to those of the graph's linker."""
