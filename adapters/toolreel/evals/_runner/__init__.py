"""evals/_runner"""
