"""Words that stand for themselves: one token each, never split, never a subject (specs/kbert.md, section 3.1)."""

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
ENT, SUB, PRE, OBJ = "[ENT]", "[SUB]", "[PRE]", "[OBJ]"

TAGS = (PAD, UNK, CLS, SEP, MASK, ENT, SUB, PRE, OBJ)
KEPT = (CLS, SEP)  # what no truncation may lose
