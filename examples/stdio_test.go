package examples_test

// aboutHTTP are scenarios that look at nothing but HTTP, which stdio does not have.
var aboutHTTP = map[string]string{
	"dns-rebinding-protection":             "hosts and origins",
	"server-session-lifecycle":             "sessions",
	"server-sse-multiple-streams":          "streams",
	"server-sse-polling":                   "streams",
	"http-header-validation":               "headers",
	"http-custom-header-server-validation": "headers",
}

// ofHTTP are checks within other scenarios that do so, and what they look at.
var ofHTTP = map[string]string{
	"sep-2575-http-server-meta-invalid-400":        "a status",
	"sep-2575-http-server-unsupported-version-400": "a status",
	"sep-2575-missing-capability-http-400":         "a status",
	"sep-2575-http-server-header-mismatch-400":     "a header",
	"tasks-headers-reject-mismatched-method":       "a header",
	"sep-2663-server-rejects-mismatched-mcp-name":  "a header",
}
