"""Pages for curators: they ask, correct, look back and undo in a browser, by the routes that programs use."""
