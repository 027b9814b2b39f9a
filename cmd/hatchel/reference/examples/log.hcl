tool "note" {
  description = "Write a remark into the log of the client."
  input "remark" { type = string }
  step "note" {
    log {
      level = "notice"
      data  = { remark = input.remark }
    }
  }
  text = "Noted."
}
