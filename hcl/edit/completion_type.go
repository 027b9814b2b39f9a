package edit

import "strings"

// needsParts are the types that consist of others, with places for these.
var needsParts = map[string]string{"list": "${0:string}", "set": "${0:string}", "map": "${0:string}",
	"object": "{\n  $0\n}", "enum": `"$0"`, "optional": "${0:string}", "nullable": "${0:string}", "one_of": "$0"}

// likelyTypes are the types that are written most, the most first.
var likelyTypes = []string{"string", "optional", "integer", "enum", "bool", "list", "number", "object"}

// typeScore says how likely a type is, by what follows it.
func (c *completion) typeScore(name string) float64 {
	score := 0.0
	for i, likely := range likelyTypes {
		if name == likely {
			score += float64(len(likelyTypes) - i)
		}
	}
	inside, call := strings.CutPrefix(c.after(), "(")
	inside = strings.TrimSpace(inside)
	_, composed := needsParts[name]
	if following.MatchString(c.after()) {
		return map[bool]float64{true: 100}[name == "type"]
	}
	switch {
	case !call:
		if composed {
			score -= 30
		}
		return score
	case strings.HasPrefix(inside, `"`):
		if composed && name != "enum" {
			score -= 30
		}
		score += c.keywordScore(name, inside)
	case strings.HasPrefix(inside, "{") || inside == "":
		second, n := lastArgument(inside)
		switch {
		case name == "object" && (n == 1 || strings.HasPrefix(second, `"`)), name == "enum":
			score += 30
		}
	default:
		if !composed || name == "object" || name == "enum" {
			score -= 30
		}
		if _, n := lastArgument(inside); n > 1 && name == "optional" {
			score += 10
		}
	}
	return score
}

// keywordScore says how well the description and the keywords of a type fit its name.
func (c *completion) keywordScore(name, inside string) float64 {
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(inside, word+" =") || strings.Contains(inside, word+"=") {
				return true
			}
		}
		return false
	}
	switch second, n := lastArgument(inside); {
	case has("min_length", "max_length", "pattern", "format"):
		return map[bool]float64{true: 30}[name == "string"]
	case has("min", "max", "above", "below", "multiple_of"):
		return map[bool]float64{true: 30}[name == "integer" || name == "number"]
	case has("max_size", "types"):
		return map[bool]float64{true: 30}[name == "file"]
	case n > 1 && strings.HasPrefix(second, `"`):
		return map[bool]float64{true: 30}[name == "enum"]
	}
	return 0
}

// lastArgument returns the second argument of a call, and how many there are.
func lastArgument(inside string) (second string, n int) {
	depth, quoted, start := 0, false, 0
	n = 1
	for i := 0; i < len(inside); i++ {
		switch b := inside[i]; {
		case b == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", b) >= 0:
			depth++
		case strings.IndexByte(")]}", b) >= 0:
			if depth--; depth < 0 {
				i = len(inside)
			}
		case b == ',' && depth == 0:
			n++
			if start == 0 {
				start = i + 1
			}
		}
	}
	if start > 0 {
		second = strings.TrimSpace(inside[start:])
	}
	return second, n
}
