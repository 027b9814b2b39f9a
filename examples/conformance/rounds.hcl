# Single questions, several at once, and several rounds, as specified by revision 2026-07-28.

tool "test_input_required_result_elicitation" {
  description = "Asks the user for a name."
  step "user" {
    ask "user_name" {
      elicit {
        message = "What is your name?"
        fields  = object({ name = string("Your name") })
      }
    }
  }
  text = "Hello, ${step.user.user_name.content.name}!"
}

tool "test_input_required_result_sampling" {
  description = "Asks the model of the client for a capital."
  step "model" {
    ask "capital_question" {
      sample {
        prompt     = "What is the capital of France?"
        max_tokens = 100
      }
    }
  }
  text = step.model.capital_question.text
}

tool "test_input_required_result_list_roots" {
  description = "Asks which directories are open."
  step "client" {
    ask "client_roots" {
      roots {}
    }
  }
  text = "Roots: ${join(", ", [for root in step.client.client_roots.roots : root.uri])}"
}

tool "test_input_required_result_request_state" {
  description = "Asks the user to confirm. Between the calls, the state is sealed and held by the client."
  step "user" {
    ask "confirm" {
      elicit {
        message = "Please confirm."
        fields  = object({ ok = bool("Whether you confirm") })
      }
    }
  }
  text = "state-ok: ${step.user.confirm.content.ok}"
}

# A state that was altered, belongs to another call, or was used before is an error.
tool "test_input_required_result_tampered_state" {
  description = "Asks the user to confirm, and rejects a tampered state."
  step "user" {
    ask "confirm" {
      elicit {
        message = "Please confirm."
        fields  = object({ ok = bool("Whether you confirm") })
      }
    }
  }
  text = "The state was intact: ${step.user.confirm.content.ok}"
}

tool "test_input_required_result_multiple_inputs" {
  description = "Asks the user, the model and the client at once."
  step "everybody" {
    ask "user_name" {
      elicit {
        message = "What is your name?"
        fields  = object({ name = string("Your name") })
      }
    }
    ask "greeting" {
      sample {
        prompt     = "Write a friendly greeting."
        max_tokens = 50
      }
    }
    ask "client_roots" {
      roots {}
    }
  }
  text = "${step.everybody.greeting.text} ${step.everybody.user_name.content.name}, you have ${length(step.everybody.client_roots.roots)} directories open."
}

tool "test_input_required_result_multi_round" {
  description = "Asks the user twice. The second question contains the first answer."
  step "first" {
    ask "step1" {
      elicit {
        message = "What is your name?"
        fields  = object({ name = string("Your name") })
      }
    }
  }
  step "second" {
    ask "step2" {
      elicit {
        message = "What is your favourite colour, ${step.first.step1.content.name}?"
        fields  = object({ color = string("Colour") })
      }
    }
  }
  text = "${step.first.step1.content.name} likes ${step.second.step2.content.color}."
}

# A client is asked only what its capabilities allow.
tool "test_input_required_result_capabilities" {
  description = "Asks the user, the model, or both, depending on the capabilities of the client."
  step "client" {
    ask "user_name" {
      when = "'elicitation' in caller.capabilities"
      elicit {
        message = "What is your name?"
        fields  = object({ name = string("Your name") })
      }
    }
    ask "greeting" {
      when = "'sampling' in caller.capabilities"
      sample {
        prompt     = "Write a friendly greeting."
        max_tokens = 50
      }
    }
  }
  text = "${step.client.greeting == null ? "Hello" : step.client.greeting.text}, ${step.client.user_name == null ? "stranger" : step.client.user_name.content.name}!"
}
