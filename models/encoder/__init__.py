"""The pretrained encoder that reads questions: found, checked, and run without wasting a multiplication on padding."""
