"""Anonymizers CDGA, CKGA, PCKGA and CTKGA: users share attribute values and degrees with others."""
