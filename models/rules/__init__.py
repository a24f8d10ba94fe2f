"""The language of rules: from text to every binding of a rule's variables."""
