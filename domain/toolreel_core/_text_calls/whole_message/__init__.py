"""_text_calls/whole_message"""
