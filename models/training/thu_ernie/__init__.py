"""The training of THU-ERNIE's default checkpoint: rows of entities, then a reader of questions and passages."""
