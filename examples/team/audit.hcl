# What was done, by whom, and which rule let it be: hatchel audit examples/team
audit {
  file      = "audit.jsonl"
  rotate    = "100MiB"
  max_files = 30
}
