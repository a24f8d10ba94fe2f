"""The routes of OpenAI's clients: chat completions and responses."""
