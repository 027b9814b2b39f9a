package sql

import (
	"regexp"
	"strings"
)

// sqliteToken matches one token. The first group is a comment or space, all others are quoted text, a
// semicolon or anything else.
var sqliteToken = regexp.MustCompile("(?s)(--[^\n]*|/\\*.*?(?:\\*/|$)|[ \t\r\n\f]+)|" +
	"'[^']*'?|\"[^\"]*\"?|`[^`]*`?|\\[[^\\]]*\\]?|;|[^-/'\"`\\[; \t\r\n\f]+|.")

// trimTerminator removes the semicolon that ends a statement, and the comments after it. The driver
// would run what follows a semicolon as another statement and return the rows of that one.
func trimTerminator(text string) string {
	first := strings.IndexByte(text, ';')
	switch {
	case first < 0:
		return text
	case strings.Trim(text[first:], "; \t\r\n\f") == "":
		return text[:first]
	}
	end := len(text)
	for _, at := range sqliteToken.FindAllStringSubmatchIndex(text, -1) {
		switch isBlank := at[2] >= 0; {
		case isBlank:
		case text[at[0]] != ';':
			end = len(text)
		case end == len(text):
			end = at[0]
		}
	}
	return text[:end]
}
