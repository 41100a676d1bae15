"""_text_calls/formats"""
