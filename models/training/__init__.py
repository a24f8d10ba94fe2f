"""How each default checkpoint was made; one command each."""
