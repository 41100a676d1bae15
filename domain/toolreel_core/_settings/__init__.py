"""_settings"""
