"""evals/_scenarios"""
