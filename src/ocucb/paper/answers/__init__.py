"""Answers to the sentences of the paper, by its sections.

Each takes the measured curves and returns criteria, the numbers in words that hold whatever the
verdict is, and a small picture.
"""
