"""_schema"""
