"""What ``toolreel demo`` replays: a recorded session, and the tools that it used."""

__all__: list[str] = []
