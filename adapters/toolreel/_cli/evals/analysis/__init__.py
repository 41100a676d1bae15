"""``toolreel eval`` commands that say why runs are lost, and what to choose."""
