"""_replies/calls"""
