"""Pictures of an explanation: its parts in order, K-BERT's sentence tree, the facts below one word."""
