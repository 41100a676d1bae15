"""_replay/explain"""
