tool "office_pulse" {
  description = "Revision 0000 of what everybody sees."
  text        = "yes"
}
