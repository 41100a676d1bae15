"""tools/skills"""
