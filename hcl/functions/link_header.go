package functions

import "strings"

func linkFunctions() []Function {
	return []Function{
		New("link", `Returns the URL of a relation such as "next" from the Link header of a response, or null.`,
			params(param("headers", Object), param("relation", String)), nullable(String), link),
	}
}

func link(_ *Context, a []any) (any, error) {
	var lines []any
	switch v := a[0].(map[string]any)["link"].(type) {
	case string:
		lines = []any{v}
	case []any:
		lines = v
	}
	for _, line := range lines {
		s, _ := line.(string)
		for s != "" {
			var target string
			var relations []string
			target, relations, s = parseLink(s)
			for _, r := range relations {
				if target != "" && strings.EqualFold(r, a[1].(string)) {
					return target, nil
				}
			}
		}
	}
	return nil, nil
}

// parseLink parses one <target>; name=value; ... of RFC 8288 and returns what follows its comma.
// The target of malformed text is empty.
func parseLink(s string) (target string, relations []string, rest string) {
	s = strings.TrimLeft(s, " \t,")
	after, ok := strings.CutPrefix(s, "<")
	if !ok {
		_, rest, _ = strings.Cut(s, ",")
		return "", nil, rest
	}
	if target, s, ok = strings.Cut(after, ">"); !ok {
		return "", nil, ""
	}
	found := false
	for {
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, ";") {
			_, rest, _ = strings.Cut(s, ",")
			return strings.TrimSpace(target), relations, rest
		}
		var name, text string
		name, text, s = parseLinkParameter(s[1:])
		if strings.EqualFold(name, "rel") && !found { // only the first one counts
			relations, found = strings.Fields(text), true
		}
	}
}

func parseLinkParameter(s string) (name, text, rest string) {
	s = strings.TrimLeft(s, " \t")
	end := strings.IndexAny(s, "=;,")
	if end < 0 {
		return strings.TrimSpace(s), "", ""
	}
	name, rest = strings.TrimSpace(s[:end]), s[end:]
	if rest[0] != '=' {
		return name, "", rest
	}
	rest = strings.TrimLeft(rest[1:], " \t")
	if after, quoted := strings.CutPrefix(rest, `"`); quoted {
		text, rest = parseQuoted(after)
		return name, text, rest
	}
	if end = strings.IndexAny(rest, " \t;,"); end < 0 {
		end = len(rest)
	}
	return name, rest[:end], rest[end:]
}

// parseQuoted parses a quoted string after its opening quote.
func parseQuoted(s string) (text, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i == len(s) {
				return b.String(), ""
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
