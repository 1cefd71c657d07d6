"""CDGA, CKGA, PCKGA, CTKGA: users share attribute values and degrees with others."""
