"""testing/_recordings"""
