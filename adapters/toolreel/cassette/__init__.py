"""cassette"""
