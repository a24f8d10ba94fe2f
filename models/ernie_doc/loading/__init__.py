"""Checkpoints of ERNIE-Doc: PaddleNLP's, read without unpickling what they ask for, and ours."""
