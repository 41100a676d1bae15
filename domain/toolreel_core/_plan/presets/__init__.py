"""_plan/presets"""
