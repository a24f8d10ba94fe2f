"""Attention rules: functions of tokens that say who may attend to whom; every model's masks come from here."""
