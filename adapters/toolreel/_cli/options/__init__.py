"""_cli/options"""
