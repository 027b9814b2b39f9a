resource "terms" {
  uri  = "shop://terms"
  text = "Orders are paid within 14 days."
  annotations {
    audience = ["assistant"]
    priority = 0.8
  }
}
