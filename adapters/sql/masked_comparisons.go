package sql

import (
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/template/sqltext"
)

// ComparedWithMasked implements hcl.MaskedStatements.
func (b *block) ComparedWithMasked(mask *eval.Mask) (places []hcl.Range) {
	for _, statement := range b.statements() {
		for _, sample := range statement.Samples() {
			s := newMaskScan(sample.Text, b.dialect, mask)
			s.run()
			for _, at := range s.compared(b.dialect == sqltext.PostgreSQL) {
				if at >= len(sample.Sources) || !isOfCall(sample.Sources[at]) {
					continue
				}
				if place := diag.RangeOf(sample.Sources[at].Range); !slices.Contains(places, place) {
					places = append(places, place)
				}
			}
		}
	}
	return places
}

// isOfCall reports whether the caller may choose the value of a parameter.
func isOfCall(p *template.Interpolation) bool {
	root, _, _ := strings.Cut(strings.TrimSpace(p.Source), ".")
	return p.Written == "" && !slices.Contains([]string{"caller", "page", "step", "var", "secret", "each"}, root)
}

// StatementNames implements hcl.MaskedStatements.
func (b *block) StatementNames() (names []string, all bool) {
	if b.Statement != nil {
		return nil, false
	}
	for _, statement := range b.statements() {
		for _, sample := range statement.Samples() {
			s := newMaskScan(sample.Text, b.dialect, &eval.Mask{})
			for i, token := range s.tokens {
				switch {
				case strings.HasSuffix(token, "*") && s.word(i-1) != "(":
					return nil, false
				case isName(token) && !slices.Contains(names, lastName(token)):
					names = append(names, lastName(token))
				}
			}
		}
	}
	return names, true
}

var (
	// conditionWords begin conditions and orders, whose outcome tells of the values in them.
	conditionWords = wordSet("WHERE ON HAVING WHEN ORDER GROUP FILTER")
	// conditionEnds end them.
	conditionEnds = wordSet("SELECT FROM JOIN SET VALUES THEN ELSE END LIMIT OFFSET FETCH UNION EXCEPT INTERSECT " +
		"MINUS RETURNING WINDOW FOR ;")
)

// compared returns the parameters that stand in one comparison with a masked column, in conditions and orders.
func (s *maskScan) compared(numbered bool) (found []int) {
	var here []int
	isCondition, isMasked, isBetween, params := false, false, false, 0
	flush := func() {
		if isMasked && isCondition {
			found = append(found, here...)
		}
		here, isMasked, isBetween = nil, false, false
	}
	for i, token := range s.tokens {
		switch word := s.word(i); {
		case word == "AND" && isBetween:
			isBetween = false
		case word == "AND" || word == "OR":
			flush()
		case conditionWords[word]:
			flush()
			isCondition = true
		case conditionEnds[word]:
			flush()
			isCondition = false
		case word == "BETWEEN":
			isBetween = true
		case word == "?" && !numbered:
			here, params = append(here, params), params+1
		case word == "$" && numbered:
			digits := ""
			for j := i + 1; j < len(s.tokens) && strings.Trim(s.tokens[j], "0123456789") == ""; j++ {
				digits += s.tokens[j]
			}
			if n, err := strconv.Atoi(digits); err == nil {
				here = append(here, n-1)
			}
		default:
			isMasked = isMasked || strings.HasPrefix(token, stringToken) && s.reads(i, i+1) ||
				isName(token) && s.word(i+1) != "(" && s.isMasked(lastName(token))
		}
	}
	flush()
	return found
}
