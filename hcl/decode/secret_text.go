package decode

import "hatchel/hcl/diag"

// SecretText is a string known at load that may be secret. It prints as Hidden; only Reveal returns
// the text.
type SecretText string

func (SecretText) String() string { return diag.Hidden }

func (SecretText) GoString() string { return diag.Hidden }

// MarshalText returns Hidden, so that encoders do not expose the secret.
func (SecretText) MarshalText() ([]byte, error) { return []byte(diag.Hidden), nil }

// Reveal returns the text itself.
func (s SecretText) Reveal() string { return string(s) }
