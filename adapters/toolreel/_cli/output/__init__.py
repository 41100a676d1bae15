"""_cli/output"""
