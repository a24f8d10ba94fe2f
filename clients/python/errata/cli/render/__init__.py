"""Drawings of the commands: functions from wire types to rich renderables, which neither send nor print."""
