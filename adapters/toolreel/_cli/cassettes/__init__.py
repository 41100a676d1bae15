"""_cli/cassettes"""
