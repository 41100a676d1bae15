"""http/_connections"""
