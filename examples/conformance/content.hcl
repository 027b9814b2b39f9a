# What a tool can answer: text, pictures, sound, documents, several of them, and a failure.

tool "test_simple_text" {
  description = "Answers with a text."
  text        = "This is a simple text response for testing."
}

tool "test_image_content" {
  description = "Answers with a picture."
  content "image" {
    data      = filebase64("samples/pixel.png")
    mime_type = "image/png"
  }
}

tool "test_audio_content" {
  description = "Answers with a sound."
  content "audio" {
    data      = filebase64("samples/tone.wav")
    mime_type = "audio/wav"
  }
}

tool "test_embedded_resource" {
  description = "Answers with a document that has an address of its own."
  content "resource" {
    uri       = "test://embedded-resource"
    mime_type = "text/plain"
    text      = "This is an embedded resource content."
  }
}

# A link is only the address of a document, which the client reads when it wants to.
tool "test_resource_link" {
  description = "Answers with a link to a document."
  content "link" {
    uri         = "test://static-text"
    name        = "static-text"
    title       = "Static text"
    description = "A text that never changes."
    mime_type   = "text/plain"
  }
}

# Pieces are sent in written order. Each may say for whom it is and how much it matters.
tool "test_multiple_content_types" {
  description = "Answers with a text, a picture and a document at once."
  content "text" { text = "Multiple content types test:" }
  content "image" {
    data      = filebase64("samples/pixel.png")
    mime_type = "image/png"
    annotations {
      audience = ["user"]
      priority = 0.3
    }
  }
  content "resource" {
    uri       = "test://mixed-content-resource"
    mime_type = "application/json"
    text      = jsonencode({ test = "data", value = 123 })
  }
}

# A failure is a result that the model reads, so that it can do better. `fault`, in tasks.hcl, is an error of the protocol instead.
tool "test_error_handling" {
  description = "Always fails."
  step "refuse" {
    fail { message = "This tool intentionally returns an error for testing" }
  }
  text = "Never said."
}
