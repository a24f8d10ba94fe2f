"""One file for each way to harm the service; `all.py` has them in the order in which they are done."""
