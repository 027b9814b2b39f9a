test "a ping is answered" {
  tool = "ping"
  expect { text = "pong" }
}

test "a hold is released when the user agrees" {
  tool = "release_hold"
  args = { shipment = 7 }
  answer "consent" { accept = {} }
  expect { text = "The hold on shipment 7 is released." }
}

test "a hold stays when the user declines" {
  tool = "release_hold"
  args = { shipment = 7 }
  answer "consent" { decline = true }
  expect { error_matches = "declined" }
}
