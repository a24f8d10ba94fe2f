"""How the default checkpoint of THU-ERNIE is made: rows of entities, then a reader of questions and passages."""
