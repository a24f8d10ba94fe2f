"""The scope of edits: whether a question asks for the fact of an edit, judged on the question alone, for any system."""
