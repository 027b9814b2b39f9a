resource "notice" {
  uri  = "load://notice"
  text = "Revision 0000 of a text that is part of the configuration."
}
