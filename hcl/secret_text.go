package hcl

// SecretText is known at load and may hold a secret. It prints as Hidden; Reveal gives the text to the library that needs it.
type SecretText string

func (SecretText) String() string { return Hidden }

func (SecretText) GoString() string { return Hidden }

// MarshalText keeps a secret out of every encoder.
func (SecretText) MarshalText() ([]byte, error) { return []byte(Hidden), nil }

// Reveal is the text itself.
func (s SecretText) Reveal() string { return string(s) }
