"""evals/_replay"""
