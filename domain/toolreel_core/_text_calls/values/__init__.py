"""_text_calls/values"""
