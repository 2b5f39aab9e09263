"""Checks of the exercises in the lessons: the correct value, typical slips, and hints."""
