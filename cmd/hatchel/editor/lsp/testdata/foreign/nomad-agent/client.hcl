client {
  enabled = true
  host_volume "ca-certificates" {
    path      = "/etc/ssl/certs"
    read_only = true
  }
}

telemetry {
  prometheus_metrics = true
}
