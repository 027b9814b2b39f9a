package importer

import "hatchel/internal/credential"

// IsCredential reports whether the value of a named member or field must not be written to a file.
func IsCredential(name, value string) bool {
	return credential.IsName(name) || ContainsCredential(value)
}

// ContainsCredential reports whether a part of a text has the form of the keys and tokens that known services issue.
func ContainsCredential(text string) bool {
	_, found := credential.Find(text)
	return found
}

// WithoutCredentials returns a text with … in place of each key and token that ContainsCredential finds.
func WithoutCredentials(text string) string { return credential.Redact(text) }
