variable "tracker" {
  type    = string
  default = "https://tracker.example/mcp"
}

secret "tracker" { env = "TRACKER_TOKEN" }

connection "mcp" "tracker" {
  url         = var.tracker
  definitions = "tracker.tools.json"
  auth { bearer = secret.tracker }
  breaker { failures = 5 }
}

# The name, the description and two of the inputs are ours; three arguments are fixed.
tool "report_bug" {
  description = "Report a bug of the shop. Search for a similar one with find_bugs first. Returns the number of the issue."
  destructive = false
  input "title" { type = string("One line", { min_length = 5, max_length = 120 }) }
  input "body" { type = string("What happened, and how to repeat it", { max_length = 8000 }) }
  idempotency { ttl = "24h" }
  limit { rate = "10/h" }
  mcp "tracker" {
    call                 = "create_issue"
    arguments            = { project = "shop", title = input.title, body = input.body, labels = ["agent"] }
    idempotency_argument = "request_id"
  }
  result  = "{number: output.structured.number}"
  returns = object({ number = integer })
}

tool "find_bugs" {
  description = "Find open issues of the shop by words of their title or text."
  read_only   = true
  input "words" { type = string("Words, as in a search engine", { min_length = 2, max_length = 200 }) }
  mcp "tracker" {
    call      = "search_issues"
    arguments = { project = "shop", query = input.words, state = "open" }
  }
  result  = "map(output.structured.issues, {{number: .number, title: .title}})"
  returns = list(object({ number = integer, title = string }))
}

# Two calls are one tool, and a person approves the second.
tool "close_bug" {
  description = "Close an open issue of the shop."
  input "number" { type = integer("Number of the issue", { min = 1 }) }
  input "reason" { type = string("One sentence", { min_length = 5, max_length = 500 }) }
  approval { timeout = "15m" }
  step "issue" {
    mcp "tracker" {
      call      = "get_issue"
      arguments = { project = "shop", number = input.number }
    }
    expect "the issue is not open" { that = "output.structured.state == 'open'" }
  }
  step "close" {
    mcp "tracker" {
      call      = "update_issue"
      arguments = { project = "shop", number = input.number, state = "closed", comment = input.reason }
    }
  }
  text = "Closed: ${step.issue.structured.title}"
}

policy "tracker" {
  allow = "tool.read_only || len(tool.upstreams) == 0 || 'shop' in caller.groups"
}
