"""What a graph gives away before it is anonymized, and what each method would cost."""
