# Resources: constant documents, a file that clients can subscribe to, and a family of documents.

resource "static-text" {
  uri         = "test://static-text"
  title       = "Static text"
  description = "A text that never changes."
  text        = "This is the content of the static text resource."
  cache {
    ttl   = "5m"
    scope = "public"
  }
}

resource "static-binary" {
  uri         = "test://static-binary"
  title       = "Static image"
  description = "An image of one pixel."
  mime_type   = "image/png"
  data        = filebase64("samples/pixel.png")
  annotations {
    audience = ["user"]
    priority = 0.5
  }
}

# Subscribers are notified when the file changes.
resource "watched-resource" {
  uri         = "test://watched-resource"
  title       = "Watched file"
  description = "A file that clients can subscribe to."
  mime_type   = "text/plain"
  file {
    directory = "samples"
    read      = "watched.txt"
  }
}

# The variables of a template have a type, a description and completion, like the inputs of a tool.
resource "template-data" {
  uri_template = "test://template/{id}/data"
  title        = "Data by id"
  description  = "The data of one id."
  mime_type    = "application/json"
  input "id" {
    type        = string
    description = "Which data"
    complete    = ["123", "124", "200"]
  }
  text = jsonencode({ id = input.id, templateTest = true, data = "Data for ID: ${input.id}" })
}
