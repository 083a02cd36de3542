"""Pages of the documentation that are made from the code: each says what there is, so none is written by hand."""
