# Results of tools: text, images, audio, embedded resources, links, several of them, and failures.

tool "test_simple_text" {
  description = "Answers with a text."
  text        = "This is a simple text response for testing."
}

tool "test_image_content" {
  description = "Answers with an image."
  content "image" {
    data      = filebase64("samples/pixel.png")
    mime_type = "image/png"
  }
}

tool "test_audio_content" {
  description = "Answers with audio."
  content "audio" {
    data      = filebase64("samples/tone.wav")
    mime_type = "audio/wav"
  }
}

tool "test_embedded_resource" {
  description = "Answers with an embedded resource."
  content "resource" {
    uri       = "test://embedded-resource"
    mime_type = "text/plain"
    text      = "This is an embedded resource content."
  }
}

# A link is the URI of a document, which the client reads when it needs it.
tool "test_resource_link" {
  description = "Answers with a link to a resource."
  content "link" {
    uri         = "test://static-text"
    name        = "static-text"
    title       = "Static text"
    description = "A text that never changes."
    mime_type   = "text/plain"
  }
}

# Content is sent in written order. Annotations state its audience and priority.
tool "test_multiple_content_types" {
  description = "Answers with text, an image and an embedded resource."
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

# `fail` gives a result that the model reads. `fault`, in tasks.hcl, gives a protocol error.
tool "test_error_handling" {
  description = "Always fails."
  step "refuse" {
    fail { message = "This tool intentionally returns an error for testing" }
  }
  text = "Never said."
}
