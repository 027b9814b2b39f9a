prompt "review" {
  description = "Review a text."
  argument "style" {
    type        = optional(enum("short", "thorough"), "short")
    description = "How much should be said"
  }
  argument "language" {
    description = "In which language"
    complete    = ["English", "French", "German"]
  }
  message "user" {
    text = "Write a ${input.style} review in ${input.language}."
  }
}
