audit {
  file   = "audit.jsonl"
  rotate = "100MiB"
  keep   = 30
}
