# What a client hears before the answer: how far the call is, and what is worth writing down.

tool "test_tool_with_progress" {
  description = "Reports its progress: 0, 50 and 100 of 100."
  step "begun" {
    progress {
      done  = 0
      total = 100
    }
  }
  step "first" {
    wait { for = "50ms" }
  }
  step "half" {
    progress {
      done    = 50
      total   = 100
      message = "Half of it is done"
    }
  }
  step "second" {
    wait { for = "50ms" }
  }
  step "done" {
    progress {
      done  = 100
      total = 100
    }
  }
  text = "Progress was reported three times."
}

# A client chooses which levels it wants to hear, before 2026-07-28 for the session and since then with each request.
tool "test_tool_with_logging" {
  description = "Writes three messages to the log of the client."
  step "started" {
    log { message = "Tool execution started" }
  }
  step "first" {
    wait { for = "50ms" }
  }
  step "processing" {
    log {
      level   = "info"
      logger  = "conformance"
      message = "Tool processing data"
    }
  }
  step "second" {
    wait { for = "50ms" }
  }
  step "completed" {
    log { message = "Tool execution completed" }
  }
  text = "Three messages were logged."
}

tool "test_logging_tool" {
  description = "Writes a value to the log of a client that wants it."
  step "note" {
    log {
      level = "warning"
      data  = { tool = "test_logging_tool", stage = 1 }
    }
  }
  text = "Logged, if you wanted to know."
}

# A call that takes long need not hold the connection: it lets go of it, and the client comes back for the answer.
tool "test_reconnection" {
  description = "Closes the connection before it is done; the answer waits for the client."
  step "away" {
    wait {
      for    = "300ms"
      detach = true
    }
  }
  text = "The answer was kept for you."
}
