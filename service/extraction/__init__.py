"""Extracts text from HTML and PDF files."""
