"""What the commands draw: wire types in, rich renderables out; nothing here sends or prints."""
