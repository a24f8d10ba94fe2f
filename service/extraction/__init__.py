"""Text out of files that people have: HTML and PDF."""
