package importer

import "regexp"

var (
	// names of members and fields that hold credentials of the caller's service
	credentialName = regexp.MustCompile(`(?i)(api[-_]?key|access[-_]?key|token|secret|password|passwd|passphrase)$`)
	// values with the form of a credential, in a text
	credentialForm = regexp.MustCompile(`(^|[^A-Za-z0-9])` +
		`(?:(?:sk|pk|rk)[-_](?:(?:live|test|prod|proj|ant)[-_][-_A-Za-z0-9]{6}|[A-Za-z0-9]{16})|` +
		`(?:gh[opsu]|github_pat|glpat|xox[a-z]|eyJ|AKIA|AIza|SG\.|whsec|shpat)[-_A-Za-z0-9]{6})` +
		`(?:[-_.~+/=A-Za-z0-9]*[-_=A-Za-z0-9])?`)
)

// IsCredential reports whether the value of a named member or field must not be written to a file.
func IsCredential(name, value string) bool {
	return credentialName.MatchString(name) || HasCredentialForm(value)
}

// HasCredentialForm reports whether a value has the form of the keys and tokens that known services issue.
func HasCredentialForm(value string) bool {
	at := credentialForm.FindStringIndex(value)
	return at != nil && at[0] == 0
}

// ContainsCredential reports whether a part of a text has the form of the keys and tokens that known services issue.
func ContainsCredential(text string) bool { return credentialForm.MatchString(text) }

// WithoutCredentials returns a text with … in place of each key and token that ContainsCredential finds.
func WithoutCredentials(text string) string { return credentialForm.ReplaceAllString(text, "${1}…") }
