# Prompts: messages with arguments, which are completed while they are typed.

prompt "test_simple_prompt" {
  description = "One message without arguments."
  message "user" { text = "This is a simple prompt for testing." }
}

prompt "test_prompt_with_arguments" {
  description = "A message with two arguments."
  argument "arg1" {
    description = "First test argument"
    complete    = ["paris", "park", "party"]
  }
  argument "arg2" {
    description = "Second test argument"
  }
  message "user" { text = "Prompt with arguments: arg1='${input.arg1}', arg2='${input.arg2}'" }
}

prompt "test_prompt_with_embedded_resource" {
  description = "A message with an embedded resource."
  argument "resourceUri" {
    type        = string({ format = "uri" })
    description = "URI of the resource"
  }
  message "user" {
    content "resource" {
      uri       = input.resourceUri
      mime_type = "text/plain"
      text      = "Embedded resource content for testing."
    }
  }
  message "user" { text = "Please process the embedded resource above." }
}

prompt "test_prompt_with_image" {
  description = "A message with an image."
  message "user" {
    content "image" {
      data      = filebase64("samples/pixel.png")
      mime_type = "image/png"
    }
  }
  message "user" { text = "Please analyze the image above." }
}

# A prompt can ask questions, as a tool can.
prompt "test_input_required_result_prompt" {
  description = "Asks the user for the context of the message."
  step "user" {
    ask "user_context" {
      elicit {
        message = "What context should the prompt have?"
        fields  = object({ context = string("Context") })
      }
    }
  }
  message "user" { text = "Please answer with this in mind: ${step.user.user_context.content.context}" }
}
