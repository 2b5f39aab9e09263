"""For lecturers: assignments, slides and the pages of the website, made from the lessons themselves.

In: the lesson notebooks as they are committed. Out: notebooks for nbgrader (`assignment`), slide
decks (`slides`), the folder that the website is built from (`site`). Nothing is written by hand a
second time, so nothing can differ from the lessons.

    python -m course assignment build/assignment
"""
