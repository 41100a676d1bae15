"""tools/_python/types"""
