# Tasks: calls that continue after their first answer. A client that supports tasks is answered at once, polls the task, answers its questions, and may
# cancel it. Without a task block a call is never a task.

tool "greet" {
  description = "Greets a person at once."
  input "name" { type = string("Person to greet") }
  text = "Hello, ${input.name}!"
}

# optional: a client without tasks waits for the result.
tool "slow_compute" {
  description = "Runs for the given time."
  timeout     = "2m"
  input "seconds" { type = optional(number("Duration in seconds", { min = 0, max = 60 }), 1) }
  input "label" { type = optional(string("Label of the computation"), "computation") }
  task {
    mode = "optional"
    ttl  = "10m"
  }
  step "compute" {
    wait { seconds = input.seconds }
  }
  text = "Done: ${input.label}"
}

# required: a client without tasks is refused. A task whose tool fails is completed, with the failure as its result.
tool "failing_job" {
  description = "Fails after a second."
  task { mode = "required" }
  step "work" {
    wait { for = "1s" }
  }
  step "stop" {
    fail { message = "The job failed, as it always does." }
  }
  text = "Never said."
}

# A task that ends with a protocol error has failed.
tool "protocol_error_job" {
  description = "Ends with a protocol error."
  task { mode = "required" }
  step "work" {
    wait { for = "200ms" }
  }
  step "stop" {
    fault {
      code    = 1001
      message = "The job cannot be done"
      data    = { retry = false }
    }
  }
  text = "Never said."
}

# A task can ask while it runs.
tool "confirm_delete" {
  description = "Asks before it pretends to delete a file."
  input "filename" { type = string("File to delete") }
  task { mode = "optional" }
  step "user" {
    ask "confirmed" {
      elicit {
        message = "Delete ${input.filename}?"
        fields  = object({ confirm = bool("Whether to delete it") })
      }
    }
  }
  text = step.user.confirmed.content.confirm ? "Deleted: ${input.filename}" : "Kept: ${input.filename}"
}

tool "multi_input" {
  description = "Asks two questions at once, which can be answered one by one."
  task { mode = "optional" }
  step "user" {
    ask "first" {
      elicit {
        message = "Who goes first?"
        fields = object({
          name    = string("Name")
          confirm = bool("Whether you agree")
        })
      }
    }
    ask "second" {
      elicit {
        message = "Who goes second?"
        fields = object({
          name    = string("Name")
          confirm = bool("Whether you agree")
        })
      }
    }
  }
  text = "First ${step.user.first.content.name}, then ${step.user.second.content.name}"
}

# after: the question is asked in the call, which becomes a task only then.
tool "test_tool_with_task" {
  description = "Asks the user for a name, then continues as a task."
  task {
    mode  = "required"
    after = "user"
  }
  step "user" {
    ask "user_name" {
      elicit {
        message = "What is your name?"
        fields  = object({ name = string("Your name") })
      }
    }
  }
  step "work" {
    wait { for = "300ms" }
  }
  text = "Hello, ${step.user.user_name.content.name}!"
}
