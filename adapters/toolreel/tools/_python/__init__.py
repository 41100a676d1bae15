"""tools/_python"""
