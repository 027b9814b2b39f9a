# Who may call what. What no rule allows is denied: see default in team.hcl.

policy "reading" {
  allow = "tool.read_only && caller.subject != null"
}

policy "finance" {
  tools = ["invoice_*"]
  allow = "'finance' in caller.groups"
  deny  = "tool.destructive && 'board' not in caller.groups"
}

policy "large" {
  tools   = ["invoice_pay"]
  deny    = "input.amount > 10000 && 'board' not in caller.groups"
  message = "Invoices above 10000 are paid by the board. Ask ada."
}
