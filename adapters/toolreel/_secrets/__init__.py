"""_secrets"""
