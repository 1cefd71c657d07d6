"""What anonymization would cost, and which method to take: it asks both the assessments and the anonymizers."""
