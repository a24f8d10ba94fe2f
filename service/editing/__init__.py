"""The one writer: what is asked for becomes rows, a report, and a commit; and the history is read here."""
