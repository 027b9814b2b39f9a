# Who may do what. What none of this allows is denied: see default in team.hcl.

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
  message = "What is over 10000 is paid by the board. Ask ada."
}
