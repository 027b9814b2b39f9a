package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
)

// Violation describes one mismatch between a value and its type, for the model that sent the value.
// It never shows a sensitive value.
type Violation struct {
	Path    string // such as rows[2].amount; "" for the whole value
	Message string // such as `must be at least 1, got 0`
}

// String returns the violation as one line.
func (v Violation) String() string {
	if v.Path == "" {
		return v.Message
	}
	return v.Path + ": " + v.Message
}

// maxViolations limits the violations of one error: enough for every kind of mistake, without a
// line for each of a million rows.
const maxViolations = 100

func limitViolations(list []Violation) []Violation {
	if len(list) <= maxViolations {
		return list
	}
	return append(list[:maxViolations:maxViolations],
		Violation{Message: "there are further violations; fix these first"})
}

func sortByPath(list []Violation) []Violation {
	slices.SortStableFunc(list, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// checkSize checks a number of characters, items or members.
func checkSize(low, high *int, n int, noun string) []Violation {
	switch {
	case low != nil && n < *low:
		return singleViolation(sizeMessage("at least", *low, n, noun))
	case high != nil && n > *high:
		return singleViolation(sizeMessage("at most", *high, n, noun))
	}
	return nil
}

func sizeMessage(bound string, limit, got int, noun string) string {
	if limit != 1 {
		noun += "s"
	}
	return fmt.Sprintf("must have %s %d %s, got %d", bound, limit, noun, got)
}

// prefix prepends the key of an element or member to the paths of its violations.
func prefix(key string, list []Violation) []Violation {
	for i := range list {
		switch p := list[i].Path; {
		case p == "":
			list[i].Path = key
		case p[0] == '[':
			list[i].Path = key + p
		default:
			list[i].Path = key + "." + p
		}
	}
	return list
}

var plainName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func memberKey(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return "[" + quoteShort(name) + "]"
}

func indexKey(i int) string { return "[" + strconv.Itoa(i) + "]" }

const maxShownRunes = 200

// quoteShort quotes a string, shortened when it is too long.
func quoteShort(s string) string {
	head := clip(s)
	if len(head) == len(s) {
		return string(value.AppendString(nil, s))
	}
	cut := strings.TrimSuffix(head, "…")
	return fmt.Sprintf("%s… (%d characters)", value.AppendString(nil, cut), utf8.RuneCountInString(s))
}

// clip truncates a string to maxShownRunes characters.
func clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxShownRunes {
			return s[:i] + "…"
		}
	}
	return s
}

// describeValue describes a value, for the end of a message.
func describeValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + quoteShort(v)
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return "an object"
	case skipped:
		if v.object {
			return "an object"
		}
		return fmt.Sprintf("a list of %d", v.n)
	case value.Bytes:
		return "bytes"
	case value.File:
		return "a file"
	case bool:
		return strconv.FormatBool(v)
	}
	return "the number " + showJSON(v)
}
