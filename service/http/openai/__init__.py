"""OpenAI's shapes of requests and replies, and the routes that its clients ask."""
