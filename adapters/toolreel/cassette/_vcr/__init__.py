"""cassette/_vcr"""
