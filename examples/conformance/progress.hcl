# Notifications before the result: progress and log messages.

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
      message = "Half done"
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

# A client chooses the log level, for the session before 2026-07-28, with each request since then.
tool "test_tool_with_logging" {
  description = "Sends three log messages to the client."
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
  description = "Sends a value as a log message."
  step "note" {
    log {
      level = "warning"
      data  = { tool = "test_logging_tool", stage = 1 }
    }
  }
  text = "Logged."
}

# A long call can release the connection; the client reconnects for the result.
tool "test_reconnection" {
  description = "Closes the connection before it ends. The result is kept for the client."
  step "away" {
    wait {
      for    = "300ms"
      detach = true
    }
  }
  text = "The result was kept for you."
}
