tool "back_pulse" {
  description = "Revision 0000 of what the office does not see."
  text        = "yes"
}
