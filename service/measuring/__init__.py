"""What a change does, measured: how the memories answer before and after it, and how the fact tests stand."""
