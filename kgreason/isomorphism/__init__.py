"""Graphs under rules: releases that are (k,x)-isomorphism anonymizations."""
