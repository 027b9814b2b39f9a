auth {
  jwt {
    issuer   = "https://id.example"
    audience = "https://tools.example/mcp"
  }
}

approvals { allow = "'finance' in caller.groups || tool.name == 'remind'" }

tool "refund" {
  description = "Refund an order."
  input "order" { type = integer }
  approval { message = "Refund order ${input.order}." }
  http { post = "https://shop.example/orders/${input.order}/refunds" }
}

tool "remind" {
  description = "Remind everybody of what they owe."
  approval {}
  http { post = "https://shop.example/reminders" }
}
