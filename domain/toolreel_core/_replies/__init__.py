"""_replies"""
