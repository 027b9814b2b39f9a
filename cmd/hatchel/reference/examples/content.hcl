tool "logo" {
  description = "The logo of the shop, and where its terms are."
  content "text" { text = "This is the logo." }
  content "image" {
    data      = filebase64("logo.png")
    mime_type = "image/png"
  }
  content "link" {
    uri  = "shop://terms"
    name = "terms"
  }
}
