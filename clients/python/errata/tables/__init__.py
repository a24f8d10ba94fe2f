"""Tables as people have them: what marks their columns, Excel's workbooks, and how a table is written."""
