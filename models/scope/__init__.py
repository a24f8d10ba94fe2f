"""Does a question ask for the fact of an edit? Judged on the question alone, for any system."""
