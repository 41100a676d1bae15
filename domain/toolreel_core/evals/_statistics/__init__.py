"""evals/_statistics"""
