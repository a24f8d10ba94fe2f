"""Who may attend to whom, as functions of what a token is; every model's masks come from here."""
