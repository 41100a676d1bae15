"""_conversation"""
