"""http/_pyreqwest"""
