"""What a person sees of senses: words by their senses, and which sense carries the difference between two words."""
