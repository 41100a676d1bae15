"""_replay"""
