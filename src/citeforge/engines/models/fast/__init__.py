"""Models computed by OpenVINO, in float32 and int8."""
