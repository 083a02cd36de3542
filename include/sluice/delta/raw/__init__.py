"""Raw tables by their records: which there are, which are removed by their age, and where one of them is."""
