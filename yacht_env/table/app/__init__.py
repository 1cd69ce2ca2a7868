"""The table to play at, in the terminal and in a browser; the only place that imports Textual (extra ``play``).

The game itself is in the modules around: rules, dice, saving and judging are theirs, showing and asking is done here.
"""
