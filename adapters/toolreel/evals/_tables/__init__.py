"""evals/_tables"""
