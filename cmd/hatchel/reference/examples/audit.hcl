audit {
  file      = "audit.jsonl"
  rotate    = "100MiB"
  max_files = 30
}
