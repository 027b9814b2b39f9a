# Calls that go on after their first answer. A client that knows tasks is told at once that the work has begun, asks how it is getting on, answers what is
# asked meanwhile, and may cancel it. Without a task block a call is never a task.

tool "greet" {
  description = "Greets a person at once."
  input "name" { type = string("Who is greeted") }
  text = "Hello, ${input.name}!"
}

# optional: a client that cannot follow tasks waits for the answer.
tool "slow_compute" {
  description = "Takes as long as it is told to."
  timeout     = "2m"
  input "seconds" { type = optional(number("How long", { min = 0, max = 60 }), 1) }
  input "label" { type = optional(string("What it is called"), "computation") }
  task {
    mode = "optional"
    ttl  = "10m"
  }
  step "compute" {
    wait { seconds = input.seconds }
  }
  text = "Done: ${input.label}"
}

# required: a client that cannot follow tasks is refused. A task whose tool fails is completed all the same, with the failure as its result.
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

# A task that ends with an error of the protocol has failed.
tool "protocol_error_job" {
  description = "Ends with an error of the protocol."
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

# A task may ask while it runs.
tool "confirm_delete" {
  description = "Asks before it deletes a file, which it does not do in truth."
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
  description = "Asks two questions at once, which may be answered one by one."
  task { mode = "optional" }
  step "user" {
    ask "first" {
      elicit {
        message = "Who goes first?"
        fields = object({
          name    = string("Name")
          confirm = bool("Whether it is agreed")
        })
      }
    }
    ask "second" {
      elicit {
        message = "Who goes second?"
        fields = object({
          name    = string("Name")
          confirm = bool("Whether it is agreed")
        })
      }
    }
  }
  text = "First ${step.user.first.content.name}, then ${step.user.second.content.name}"
}

# after: what must be asked before the work begins is asked in the call, and only then it becomes a task.
tool "test_tool_with_task" {
  description = "Asks the user for a name, and then works on."
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
