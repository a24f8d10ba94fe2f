"""Documents as a memory: texts that curators put, extend, correct and remove, and that every version keeps."""
