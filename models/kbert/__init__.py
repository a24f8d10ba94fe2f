"""K-BERT: a BERT that reads a sentence tree, a question with facts of a knowledge graph hung on its words."""
