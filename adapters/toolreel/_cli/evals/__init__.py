"""_cli/evals"""
