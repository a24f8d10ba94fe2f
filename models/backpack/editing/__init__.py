"""How senses are edited: rows of facts, and changes of the senses of words."""
