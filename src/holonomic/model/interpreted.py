"""placeholder"""
class InterpretedModel: pass
