"""What the columns of a table mean, guessed from their names and values, and a first rule file for them."""
