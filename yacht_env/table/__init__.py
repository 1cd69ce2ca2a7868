"""The table: people play against agents, with dice that anyone can check, and every game is kept and can be judged.

Nothing here draws a screen: :mod:`~yacht_env.table.session` is a game to be played from any front end.
"""
