"""The steps of the judge's training: the net, its pairs as batches, the clock."""
