"""The protocol of a run: events in, effects and notes out, and the state between them.

``events`` are facts in the past tense, ``effects`` are requests in the imperative, and each names its
counterpart. ``state`` has the phases, ``outcome`` the ways in which a run ends, ``notes`` what a run
logs about itself, and ``codec`` serialises all of these to JSON text and back.
"""
