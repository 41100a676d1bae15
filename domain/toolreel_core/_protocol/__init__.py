"""_protocol"""
