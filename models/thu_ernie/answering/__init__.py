"""Answers from entity rows and from passages: a mask is aligned with candidates, or a span is pointed at."""
