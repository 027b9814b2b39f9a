resource "terms" {
  uri  = "shop://terms"
  text = "Orders are paid within 14 days."
  cache {
    ttl   = "1h"
    scope = "public"
  }
}
