"""Which forms of a question name which entity, as edits say it beside the graph's linker."""
