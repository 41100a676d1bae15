"""evals/_store"""
