"""T5 with a Neural Knowledge Bank: the closed-book system whose facts are value rows."""
