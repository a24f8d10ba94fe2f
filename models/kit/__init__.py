"""What every system is made of: checkpoints, replies, batches, mentions and memories."""
