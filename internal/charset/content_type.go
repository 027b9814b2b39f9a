package charset

import (
	"mime"
	"strings"
)

// usualTypes are values of Content-Type that need no parsing.
var usualTypes = map[string]bool{
	"": true, "application/json": true, "application/json; charset=utf-8": true, "text/plain; charset=utf-8": true,
}

// OfContentType returns the parameter charset of a Content-Type as it is written; empty for none.
func OfContentType(contentType string) string {
	if usualTypes[contentType] || !strings.Contains(contentType, ";") {
		return ""
	}
	_, params, _ := mime.ParseMediaType(contentType)
	return strings.Trim(params["charset"], `"' `)
}
