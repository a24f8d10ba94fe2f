"""What the Backpack is asked and says: prompts, completions, candidates and reasons."""
