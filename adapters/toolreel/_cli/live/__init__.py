"""_cli/live"""
