secret "hook" { env = "HOOK_SECRET" }

webhook "ops" {
  url    = "https://ops.example/hooks"
  secret = secret.hook
}

on "tool_result" {
  tools  = ["invoice_*"]
  when   = "event.outcome in ['failed', 'partial'] || event.ms > 5000"
  notify = ["ops"]
  limit  = "1/m"
}

tool "invoice_get" {
  description = "Read an invoice."
  input "invoice" { type = integer }
  http { get = "https://billing.example/invoices/${input.invoice}" }
}
