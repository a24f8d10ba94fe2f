"""All that a service knows as one file, and back."""
