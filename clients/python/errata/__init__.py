"""The Errata client: ask questions, correct answers, and read the history of corrections, over HTTP."""
