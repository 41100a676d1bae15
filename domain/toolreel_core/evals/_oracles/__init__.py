"""evals/_oracles"""
