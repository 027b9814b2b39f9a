# A tool that runs a program. Each element of the list is one argument, whatever the value contains. The directory logs must exist.

tool "search_log" {
  description = "Find the lines of the log that contain a text. At most 100 lines."
  input "text" { type = string("Text to look for", { min_length = 1, max_length = 200 }) }
  shell {
    command  = ["grep", "-nF", "-m", "100", "-e", input.text, "--", "logs/app.log"]
    ok_codes = [0, 1] # 1: no line matches
    sandbox { read = ["logs"] }
  }
  text = "%{if output.stdout == ""}No line matches.%{else}${output.stdout}%{endif}"
}

test "lines are found" {
  tool = "search_log"
  args = { text = "a; rm -rf /" }
  mock "shell" {
    command = ["grep", "-nF", "-m", "100", "-e", "a; rm -rf /", "--", "logs/app.log"]
    reply { stdout = "3:a; rm -rf /\n" }
  }
  expect { text = "3:a; rm -rf /\n" }
}

test "no line is no failure" {
  tool = "search_log"
  args = { text = "none" }
  mock "shell" {
    command = ["grep", "-nF", "-m", "100", "-e", "none", "--", "logs/app.log"]
    reply { exit = 1 }
  }
  expect { text = "No line matches." }
}
