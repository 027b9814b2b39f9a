tool "search_log" {
  description = "Find the lines of the log that contain a text."
  input "text" { type = string("Text to look for", { min_length = 1 }) }
  shell {
    command  = ["grep", "-nF", "-e", input.text, "--", "logs/app.log"]
    ok_codes = [0, 1] # 1: no line matches
  }
}
