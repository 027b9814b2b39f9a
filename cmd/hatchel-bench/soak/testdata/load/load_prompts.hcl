prompt "office_pulse" {
  description = "Revision 0000 of a prompt."
  message "user" { text = "Say yes." }
}
