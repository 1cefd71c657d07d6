"""Anonymization of knowledge graphs under rules by (k,x)-isomorphism, and its verification."""
