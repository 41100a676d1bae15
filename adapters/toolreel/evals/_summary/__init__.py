"""evals/_summary"""
