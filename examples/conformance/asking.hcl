# Questions in the middle of a call: a form for the user, a prompt for the model, and the list of open directories. Clients before 2026-07-28
# receive a request. Later clients receive the questions as an intermediate result and call again with the answers and a sealed state; a step that
# ran is not run again.

tool "test_sampling" {
  description = "Asks the model of the client."
  input "prompt" { type = string("What the model is asked") }
  step "model" {
    ask "answer" {
      sample {
        prompt     = input.prompt
        max_tokens = 100
      }
    }
  }
  text = "LLM response: ${step.model.answer.text}"
}

tool "test_elicitation" {
  description = "Asks the user for a name and an address."
  input "message" { type = string("What the user is asked") }
  step "user" {
    ask "details" {
      elicit {
        message = input.message
        fields = object({
          username = string("User name")
          email    = string("E-mail address", { format = "email" })
        })
      }
    }
  }
  text = "User response: ${jsonencode(step.user.details.content)}"
}

# Fields have defaults, which clients show in the form.
tool "test_elicitation_sep1034_defaults" {
  description = "Asks the user with a form in which every field has a default."
  step "user" {
    ask "profile" {
      elicit {
        message = "Please review your profile."
        fields = object({
          name     = optional(string("Full name"), "John Doe")
          age      = optional(integer("Age in years"), 30)
          score    = optional(number("Score in percent"), 95.5)
          status   = optional(enum("active", "inactive", "pending"), "active")
          verified = optional(bool("Whether the profile is verified"), true)
        })
      }
    }
  }
  text = "Elicitation completed: ${jsonencode(step.user.profile.content)}"
}

# Single and multiple choice, with and without titles. legacyEnum is the form that titles had before 2025-11-25.
tool "test_elicitation_sep1330_enums" {
  description = "Asks the user with every kind of choice."
  step "user" {
    ask "choices" {
      elicit {
        message = "Please choose."
        fields = object({
          untitledSingle = enum("option1", "option2", "option3")
          titledSingle   = enum({ value1 = "First option", value2 = "Second option", value3 = "Third option" })
          legacyEnum     = string("Old titles", { enum = ["opt1", "opt2", "opt3"], schema = { enumNames = ["Option one", "Option two", "Option three"] } })
          untitledMulti  = list(enum("option1", "option2", "option3"))
          titledMulti    = list(enum({ value1 = "First choice", value2 = "Second choice", value3 = "Third choice" }))
        })
      }
    }
  }
  text = "Elicitation completed: ${jsonencode(step.user.choices.content)}"
}

# A page instead of a form, for input that the client must not see. Accepting means that the user agreed to open the page.
tool "ask_on_a_page" {
  description = "Asks the user to sign in on a page."
  step "user" {
    ask "consent" {
      elicit {
        message = "Please sign in."
        url     = "https://example.com/sign-in"
      }
    }
  }
  text = "The user has answered: ${step.user.consent.action}"
}

# A client without a model is not asked; the fallback is used.
tool "ask_if_possible" {
  description = "Asks the model of the client for a word, with a fallback."
  step "model" {
    ask "word" {
      timeout  = "2m"
      fallback = "serendipity"
      sample {
        prompt     = "Say a beautiful word."
        system     = "You answer with one word."
        max_tokens = 10
        models     = ["small", "fast"]
        speed      = 0.9
      }
    }
  }
  text = "A word: ${step.model.word.text}"
}

# A client without a required capability is refused before anything is done.
tool "test_missing_capability" {
  description = "Needs a client with a model."
  requires    = ["sampling"]
  text        = "Your client has a model."
}

tool "test_streaming_elicitation" {
  description = "Asks the user to confirm. Requires a client that supports elicitation."
  requires    = ["elicitation"]
  step "user" {
    ask "confirm" {
      elicit { message = "Shall the call go on?" }
    }
  }
  text = "The user has agreed."
}

# With on_decline = "continue" the call goes on when the user declines.
tool "ask_politely" {
  description = "Asks the user for a name, and continues without one."
  step "user" {
    ask "name" {
      elicit {
        message    = "May I know your name?"
        fields     = object({ name = string("Name") })
        on_decline = "continue"
      }
    }
  }
  text = step.user.name.content == null ? "Hello, stranger!" : "Hello, ${step.user.name.content.name}!"
}
