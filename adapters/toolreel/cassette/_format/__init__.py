"""cassette/_format"""
