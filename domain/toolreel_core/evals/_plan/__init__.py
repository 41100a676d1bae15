"""evals/_plan"""
