# Metrics for Prometheus at /metrics, for the members of the board. Calls are also counted by caller.

telemetry {
  metrics {
    allow   = "'board' in caller.groups"
    callers = 20
  }
}
