package decode

import "hatchel/hcl/diag"

// SecretText is known at load and may hold a secret. It prints as Hidden; Reveal gives the text to
// the library that needs it.
type SecretText string

func (SecretText) String() string { return diag.Hidden }

func (SecretText) GoString() string { return diag.Hidden }

// MarshalText keeps a secret out of every encoder.
func (SecretText) MarshalText() ([]byte, error) { return []byte(diag.Hidden), nil }

// Reveal is the text itself.
func (s SecretText) Reveal() string { return string(s) }
