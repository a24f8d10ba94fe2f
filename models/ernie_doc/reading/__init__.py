"""Reading a long document into states, once, and finding answers in it."""
