"""Questions to the Backpack and its answers: prompts, completions, candidates and reasons."""
