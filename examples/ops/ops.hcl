# Questions about a machine: disks, logs, services, git history. Every command is a list of arguments, or a script whose text never changes.

server {
  name         = "ops"
  version      = "1.0.0"
  instructions = "Read-only questions about this machine. Nothing here changes anything."
}

variable "log_dir" {
  type        = string
  default     = "logs"
  description = "Directory in which logs may be searched."
}

variable "repo_dir" {
  type        = string
  default     = "../.."
  description = "The git repository whose history may be read."
}

tool "disk_usage" {
  description = "Show how full the file systems are. Use it when something cannot be written."
  read_only   = true
  open_world  = false
  input "path" { type = optional(string("Only the file system of this path")) }

  shell {
    command = ["df", "-P", "-k", "--", input.path]
    as      = "lines"
  }
  result = <<-EXPR
    output.lines[1:] | map(split(" ", regexreplace(#, "[ ]+", " "))) | map({{
      filesystem: #[0], kib: tonumber(#[1]), used: tonumber(#[2]), available: tonumber(#[3]), use: #[4], mount: #[5],
    }})
  EXPR
}

tool "search_logs" {
  description = "Find lines in a log file that contain a text, with their line numbers. The text is taken literally."
  read_only   = true
  open_world  = false
  input "file" { type = string("Log file, relative to the log directory", { min_length = 1 }) }
  input "text" { type = string("Text to look for", { min_length = 1, max_length = 200 }) }
  input "ignore_case" { type = optional(bool, false) }
  input "max" { type = optional(integer("Lines at most", { min = 1, max = 500 }), 50) }

  shell {
    command  = ["grep", input.ignore_case ? "-i" : null, "-nF", "-m", "${input.max}", "-e", input.text, "--", under(var.log_dir, input.file)]
    ok_codes = [0, 1]
    as       = "lines"
  }
  result = "{lines: output.lines, found: output.code == 0}"
}

tool "count_by_level" {
  description = "Count the lines of each level (INFO, WARN, ERROR) in a log file."
  read_only   = true
  open_world  = false
  input "file" { type = string("Log file, relative to the log directory", { min_length = 1 }) }

  shell {
    pipe = [
      { command = ["grep", "-oE", "INFO|WARN|ERROR", "--", under(var.log_dir, input.file)], ok_codes = [0, 1] },
      ["sort"],
      ["uniq", "-c"],
    ]
    as = "lines"
  }
  result = "output.lines | map(split(' ', trimspace(#))) | map({{level: #[1], lines: tonumber(#[0])}})"
}

tool "git_log" {
  description = "List the latest commits, optionally of one path or author."
  read_only   = true
  open_world  = false
  input "count" { type = optional(integer("Commits at most", { min = 1, max = 100 }), 10) }
  input "author" { type = optional(string("Name or mail address of the author, or a part of it")) }
  input "path" { type = optional(string("Path below the repository, such as src/main.go")) }

  shell {
    dir     = var.repo_dir
    command = ["git", "log", "--max-count=${input.count}", "--date=short", "--format=%h %ad %an: %s", ["--author=${input.author}"], "--", input.path]
    as      = "lines"
    sandbox { read = ["${var.repo_dir}/.git"] }
  }
  result = "output.lines"
}

tool "service_status" {
  description = "Show whether a service runs on this machine."
  read_only   = true
  open_world  = false
  input "service" { type = enum("cron", "nginx", "postgresql", "ssh") }
  locals {
    process = { cron = "cron", nginx = "nginx", postgresql = "postgres", ssh = "sshd" }[input.service]
  }

  shell {
    script   = <<-SH
      if command -v systemctl >/dev/null && systemctl is-system-running >/dev/null 2>&1; then
        systemctl is-active ${input.service}
      elif pgrep -x ${local.process} >/dev/null; then
        echo active
      else
        echo inactive
      fi
    SH
    ok_codes = [0, 3]
    sandbox { network = true } # systemctl uses a local socket
  }
  text = "${input.service}: ${trimspace(output.stdout)}"
}
