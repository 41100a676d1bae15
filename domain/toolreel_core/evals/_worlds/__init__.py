"""evals/_worlds"""
