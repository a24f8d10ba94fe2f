"""What the editor answers from its state: versions, entities."""
