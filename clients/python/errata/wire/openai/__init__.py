"""The shapes of OpenAI's clients: chat completions and responses."""
