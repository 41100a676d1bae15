"""evals/_records"""
