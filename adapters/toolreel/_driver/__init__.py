"""_driver"""
