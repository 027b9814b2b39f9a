# Every call, its caller, and the rule that allowed it. Read the log with: hatchel audit examples/team
audit {
  file      = "audit.jsonl"
  rotate    = "100MiB"
  max_files = 30
}
