"""Tools of the Model Context Protocol: programs ask, look back and propose; none of them makes a change live."""
