"""_replies/streaming"""
