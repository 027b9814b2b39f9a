package sql

import (
	"slices"
	"strings"

	"hatchel/hcl/template/sqltext"
	"hatchel/internal/lazyregexp"
)

var (
	// zoneAfterTime matches a time, or a date, and the beginning of what follows it: an offset, Z or a word.
	zoneAfterTime = lazyregexp.New(`(?i)(?:[0-9]:[0-9]{2}(?:\.[0-9]+)?(?:\s*[ap]m)?|` +
		`[0-9]T[0-9]{2}(?:[0-9]{2}){0,2}(?:\.[0-9]+)?)\s*([+-][0-9]|[a-z]+)|` +
		`[0-9]-[0-9]{2}\s*(z\b|[+-][0-9]{2}:[0-9])`)
	// zoneAfterYear does so for a year after a time, as in Thu Jan 01 12:00:00 2026 PST.
	zoneAfterYear = lazyregexp.New(`(?i)[0-9]:[0-9]{2}(?:\.[0-9]+)?\s+[0-9]{4,6}\s*([+-][0-9]{2}:?[0-9]{2}|[a-z]+)`)
	// zoneAfterDigits does so for a time without colons.
	zoneAfterDigits = lazyregexp.New(`(?i)(?:^|[\sT])[0-9]{6}(?:\.[0-9]+)?\s*([+-][0-9:]+(?:$|[^0-9:-])|[a-z]+)`)
)

// notZones are the words after a time that name no time zone.
var notZones = []string{"AM", "PM", "BC", "AD", "T"}

// hasOffset reports whether a text has a time with an offset, or with the name of a time zone. It looks for the rare
// forms only in texts that may have them, because it looks at each short text that is sent to some servers.
func hasOffset(text string) bool {
	return hasZone(zoneAfterTime, text) || strings.Contains(text, ":") && hasZone(zoneAfterYear, text) ||
		hasDigits(text, len("120000")) && hasZone(zoneAfterDigits, text)
}

func hasZone(after *lazyregexp.Regexp, text string) bool {
	for _, found := range after.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(notZones, strings.ToUpper(found[1])) {
			return true
		}
	}
	return false
}

// hasDigits reports whether a text has so many digits in a row.
func hasDigits(text string, n int) bool {
	row := 0
	for i := range len(text) {
		if row++; text[i] < '0' || text[i] > '9' {
			row = 0
		} else if row == n {
			return true
		}
	}
	return false
}

// maxOffsetText is how many bytes a text has at most that is searched for an offset, if nothing says that it is a time.
const maxOffsetText = 128

// mayHaveOffset reports whether an argument is a short text with an offset, or has one in it.
func mayHaveOffset(arg any) bool {
	return anyText(arg, func(text string) bool { return len(text) <= maxOffsetText && hasOffset(text) })
}

// anyText reports whether an argument is a text that matches, or has one in it.
func anyText(arg any, matches func(string) bool) bool {
	switch v := arg.(type) {
	case string:
		return matches(v)
	case sqltext.AnyText:
		return matches(string(v))
	case []any:
		return slices.ContainsFunc(v, func(elem any) bool { return anyText(elem, matches) })
	case map[string]any:
		for _, member := range v {
			if anyText(member, matches) {
				return true
			}
		}
	}
	return false
}
