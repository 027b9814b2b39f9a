# No program is started: each mock says what the program would write.

test "file systems are shown as objects" {
  tool = "disk_usage"
  mock "shell" {
    command = ["df", "-P", "-k", "--"]
    reply {
      stdout = <<-EOT
        Filesystem 1024-blocks    Used Available Capacity Mounted on
        /dev/sda1     20000000 5000000  15000000      25% /
      EOT
    }
  }
  expect {
    result = [{ filesystem = "/dev/sda1", kib = 20000000, used = 5000000, available = 15000000, use = "25%", mount = "/" }]
  }
}

test "lines are found in a log" {
  tool = "search_logs"
  args = { file = "app.log", text = "timeout", max = 2 }
  mock "shell" {
    command = ["grep", "-nF", "-m", "2", "-e", "timeout", "--", "*/logs/app.log"]
    reply { stdout = "3:WARN timeout\n" }
  }
  expect { result = { lines = ["3:WARN timeout"], found = true } }
}

test "a text that is not found is no failure" {
  tool = "search_logs"
  args = { file = "app.log", text = "timeout", ignore_case = true }
  mock "shell" {
    command = ["grep", "-i", "**"]
    reply { exit = 1 }
  }
  expect { result = { lines = [], found = false } }
}

test "only logs are searched" {
  tool = "search_logs"
  args = { file = "../ops.hcl", text = "secret" }
  expect { error_matches = "must be relative and stay inside" }
}

test "levels are counted" {
  tool = "count_by_level"
  args = { file = "app.log" }
  mock "shell" {
    command = ["grep", "**"]
    reply { stdout = "WARN\nINFO\nWARN\n" }
  }
  mock "shell" {
    command = ["sort"]
    stdin   = "WARN\nINFO\nWARN\n"
    reply { stdout = "INFO\nWARN\nWARN\n" }
  }
  mock "shell" {
    command = ["uniq", "-c"]
    reply { stdout = "      1 INFO\n      2 WARN\n" }
  }
  expect { result = [{ level = "INFO", lines = 1 }, { level = "WARN", lines = 2 }] }
}

test "commits of an author are listed" {
  tool = "git_log"
  args = { count = 1, author = "Ada", path = "docs" }
  mock "shell" {
    command = ["git", "log", "--max-count=1", "**", "--author=Ada", "--", "docs"]
    reply { stdout = "1a2b3c4 2026-01-30 Ada: Explain the notes\n" }
  }
  expect { result = ["1a2b3c4 2026-01-30 Ada: Explain the notes"] }
}

test "a service is looked up by its process" {
  tool = "service_status"
  args = { service = "postgresql" }
  mock "shell" {
    script = "*pgrep -x *"
    reply { stdout = "active\n" }
  }
  expect { text = "postgresql: active" }
}
