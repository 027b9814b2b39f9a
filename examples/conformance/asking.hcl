# Asking the client in the middle of a call: its user by a form, its model by a prompt, and the client itself for the folders that are
# open. Clients before 2026-07-28 are asked by requests of their own. Later ones get the questions as an intermediate result, and call again with the
# answers and a sealed state; no step that ran is run again.

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

# Fields have defaults, which clients fill in beforehand.
tool "test_elicitation_sep1034_defaults" {
  description = "Asks the user by a form of which every field is filled in already."
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

# One of several, or several of them, with titles or without; the third is how titles were written before 2025-11-25.
tool "test_elicitation_sep1330_enums" {
  description = "Asks the user to choose in every way there is."
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

# A page to open instead of a form, for what no client should see. That the user accepts means that the page may be opened.
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
  text = "The user has said: ${step.user.consent.action}"
}

# A client without a model is not asked: what it would have said stands here.
tool "ask_if_possible" {
  description = "Asks the model of the client for a word, and has one itself."
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

# A client that cannot do what a tool needs is refused before anything is done.
tool "test_missing_capability" {
  description = "Needs a client with a model."
  requires    = ["sampling"]
  text        = "Your client has a model."
}

tool "test_streaming_elicitation" {
  description = "Asks the user to confirm, of a client that can ask one."
  requires    = ["elicitation"]
  step "user" {
    ask "confirm" {
      elicit { message = "Shall the call go on?" }
    }
  }
  text = "The user has agreed."
}

# What the user declines is an answer as well, where the tool says so.
tool "ask_politely" {
  description = "Asks the user for a name, and does without."
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
