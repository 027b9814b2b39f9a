tool "rate_order" {
  description = "Ask the user how an order went."
  input "id" { type = integer("Order number") }
  step "user" {
    ask "rating" {
      elicit {
        message = "How was order ${input.id}?"
        fields = object({
          stars  = integer("From 1 to 5", { min = 1, max = 5 })
          liked  = optional(list(enum("speed", "price", "quality")), [])
          remark = optional(string("Anything else"), "")
        })
        on_decline = "continue"
      }
    }
  }
  result = "step.user.rating"
}
