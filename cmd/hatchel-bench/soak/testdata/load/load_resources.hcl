resource "pulse" {
  uri         = "load://pulse"
  description = "Revision 0000 of what is listed, and followed by nobody."
  text        = "yes"
}
