package functions

import (
	"strings"
)

func linkFunctions() []Function {
	return []Function{
		New("link", `Gives the URL of a relation such as "next" from the Link header of a response, or null.`, params(param("headers", Object), param("relation", String)), nullable(String), link),
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
			target, relations, s = linkValue(s)
			for _, r := range relations {
				if target != "" && strings.EqualFold(r, a[1].(string)) {
					return target, nil
				}
			}
		}
	}
	return nil, nil
}

// linkValue reads one <target>; name=value; ... of RFC 8288 and returns what follows its comma. Malformed text yields no target.
func linkValue(s string) (target string, relations []string, rest string) {
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
		name, text, s = linkParameter(s[1:])
		if strings.EqualFold(name, "rel") && !found { // only the first one counts
			relations, found = strings.Fields(text), true
		}
	}
}

func linkParameter(s string) (name, text, rest string) {
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
	if strings.HasPrefix(rest, `"`) {
		return quotedParameter(name, rest[1:])
	}
	if end = strings.IndexAny(rest, " \t;,"); end < 0 {
		end = len(rest)
	}
	return name, rest[:end], rest[end:]
}

func quotedParameter(name, s string) (_, text, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return name, b.String(), s[i+1:]
		case '\\':
			if i++; i == len(s) {
				return name, b.String(), ""
			}
		}
		b.WriteByte(s[i])
	}
	return name, b.String(), ""
}
