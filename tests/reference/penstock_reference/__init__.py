"""What a loaded model must hold, computed the slow and obvious way.

Read every tensor whole, cut it, join it. Python's standard library only, and nothing of the library under test.
"""
