"""Local models computed by OpenVINO on a CPU, in float32 and int8.

Reaches the core through ``engines``. Begin at `declared`, then `embed`.
"""
