"""_jsontext"""
