"""_journal"""
