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
	conditionWords = wordSet("WHERE ON HAVING ORDER GROUP")
	// conditionEnds end them.
	conditionEnds = wordSet("FROM JOIN SET UPDATE LIMIT OFFSET FETCH UNION EXCEPT INTERSECT MINUS WINDOW FOR ;")
	// listWords begin lists of columns, which end conditions, too.
	listWords = wordSet("SELECT VALUES RETURNING")
	// matchingWords compare the rows of two queries.
	matchingWords = wordSet("INTERSECT EXCEPT MINUS")
	// partWords begin what stands in parentheses after a function, as in FILTER (WHERE …) and OVER (ORDER BY …).
	partWords = wordSet("WHERE ORDER PARTITION")
)

// comparisonScan finds the parameters of a statement by which its rows tell of masked columns.
type comparisonScan struct {
	*maskScan
	numbered bool  // parameters are $1, and not ?
	params   int   // so many of those that are ? were seen
	found    []int // stand in one comparison with a masked column
	returned []int // are columns of a query in the statement
	matches  bool  // a masked column is compared with other columns
}

// compared returns the parameters that stand in one comparison with a masked column, in conditions and orders, and
// those in columns of a query with whose columns a masked one is compared.
func (s *maskScan) compared(numbered bool) []int {
	c := comparisonScan{maskScan: s, numbered: numbered}
	c.part(0, len(s.tokens), false)
	if c.matches {
		c.found = append(c.found, c.returned...)
	}
	return c.found
}

// comparison is what stands between the words AND and OR.
type comparison struct {
	params    []int
	isMasked  bool // it has a masked column
	isBetween bool // the next AND belongs to BETWEEN
	columns   int  // and queries
}

// part looks at the query in [i, end), or at the condition or order of a function.
func (c *comparisonScan) part(i, end int, isQuery bool) {
	var (
		here        comparison
		isCondition bool
		cases       []bool // of each CASE, whether it stands in a condition
		isList      bool
		listed      []int // parameters in lists
		listsMasked bool
		isMatched   bool // with another branch
	)
	flush := func() {
		if here.isMasked && isCondition {
			c.found = append(c.found, here.params...)
			c.matches = c.matches || here.columns > 1
		}
		here = comparison{}
	}
	for ; i < end; i++ {
		switch word := c.word(i); {
		case c.beginsQuery(i):
			here.isMasked = here.isMasked || c.reads(i, i+1)
			here.columns++
			c.part(i+1, c.closes[i], true)
			i = c.closes[i]
		case word == "(" && partWords[c.word(i+1)]:
			c.part(i+1, c.closes[i], false)
			i = c.closes[i]
		case word == "AND" && here.isBetween:
			here.isBetween = false
		case word == "AND" || word == "OR":
			flush()
		case word == "BETWEEN":
			here.isBetween = true
		case word == "CASE":
			cases = append(cases, isCondition)
		case len(cases) > 0 && (word == "WHEN" || word == "THEN" || word == "ELSE" || word == "END"):
			if flush(); word == "WHEN" {
				isCondition = true
			} else {
				isCondition = cases[len(cases)-1]
			}
			if word == "END" {
				cases = cases[:len(cases)-1]
			}
		case conditionWords[word]:
			flush()
			isCondition, isList = true, false
		case conditionEnds[word] || listWords[word]:
			flush()
			isCondition, isList = false, listWords[word]
			isMatched = isMatched || matchingWords[word]
		case word == "NATURAL" || word == "USING" && c.namesMasked(i+1):
			c.matches = true
		default:
			if n, ok := c.parameter(i); ok {
				if here.params = append(here.params, n); isList {
					listed = append(listed, n)
				}
			} else if c.isColumn(i) {
				here.columns++
				here.isMasked = here.isMasked || c.isMasked(lastName(c.tokens[i]))
				listsMasked = listsMasked || isList && here.isMasked
			} else if strings.HasPrefix(c.tokens[i], stringToken) {
				here.isMasked = here.isMasked || c.reads(i, i+1)
			}
		}
	}
	flush()
	if isQuery || isMatched {
		c.returned = append(c.returned, listed...)
	}
	c.matches = c.matches || isMatched && listsMasked
}

// parameter returns the number of the parameter that begins at a token.
func (c *comparisonScan) parameter(i int) (int, bool) {
	switch {
	case c.word(i) == "?" && !c.numbered:
		c.params++
		return c.params - 1, true
	case c.word(i) != "$" || !c.numbered:
		return 0, false
	}
	digits := ""
	for j := i + 1; j < len(c.tokens) && strings.Trim(c.tokens[j], "0123456789") == ""; j++ {
		digits += c.tokens[j]
	}
	n, err := strconv.Atoi(digits)
	return n - 1, err == nil
}

// isColumn reports whether a token is the name of a column.
func (c *comparisonScan) isColumn(i int) bool {
	word := c.word(i)
	return isName(c.tokens[i]) && c.word(i+1) != "(" && !operatorWords[word] && !operandEnds[word]
}

// namesMasked reports whether the names in parentheses have a masked one.
func (c *comparisonScan) namesMasked(open int) bool {
	return c.word(open) == "(" && slices.ContainsFunc(c.nameList(open), c.isMasked)
}
