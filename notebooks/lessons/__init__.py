"""What the lessons need beside the library: checks of exercises, example systems, small demonstrations.

Nothing of the library imports from here.
"""
