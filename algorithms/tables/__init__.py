"""Values, rows and columns of tables: their kinds, and the features that models make of them."""
