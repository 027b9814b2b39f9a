secret "hook" { env = "HOOK_SECRET" }

webhook "ops" {
  url    = "https://ops.example/hooks"
  secret = secret.hook
}

tool "refund" {
  description = "Refund an order."
  input "order" { type = integer }
  approval { notify = ["ops"] }
  http { post = "https://shop.example/orders/${input.order}/refunds" }
}
