"""Re-identification risk of graphs before anonymization, and costs of the methods."""
