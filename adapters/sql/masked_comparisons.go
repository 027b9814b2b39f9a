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
	"hatchel/internal/lazyregexp"
)

// ComparedWithMasked implements hcl.MaskedStatements.
func (b *block) ComparedWithMasked(mask *eval.Mask) (places []hcl.Range) {
	for _, statement := range b.statements() {
		for _, sample := range statement.Samples() {
			s := b.newScan(sample.Text, mask)
			s.run()
			for _, at := range s.compared(b.dialect == sqltext.PostgreSQL) {
				if at >= len(sample.Sources) || !b.isOfCall(sample.Sources[at]) {
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
func (b *block) isOfCall(p *template.Interpolation) bool {
	root, _, _ := strings.Cut(strings.TrimSpace(p.Source), ".")
	if inputWord.MatchString(p.Source) || root == "each" && b.Each != nil && b.Each.Typed.Call {
		return true
	}
	return p.Written == "" && !slices.Contains([]string{"caller", "page", "step", "var", "secret", "each"}, root)
}

// inputWord finds an input in an expression.
var inputWord = lazyregexp.New(`\binput\s*[.\[]`)

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
	// comparingWords compare two values. So do = < > and ~, and functions that are not joiningWords.
	comparingWords = wordSet("= < > ~ IN LIKE ILIKE BETWEEN REGEXP RLIKE GLOB MATCH SIMILAR SOUNDS NULLIF")
	// joiningWords are functions of two values that do not compare them, and functions of one value.
	joiningWords = wordSet("COALESCE IFNULL NVL CONCAT CONCAT_WS LOWER UPPER TRIM LTRIM RTRIM CAST JSON_OBJECT " +
		"JSON_BUILD_OBJECT JSONB_BUILD_OBJECT JSON_ARRAY JSON_BUILD_ARRAY JSONB_BUILD_ARRAY ROW FORMAT MAX MIN")
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

// compared returns the parameters that stand in one comparison with a masked column, and those in columns of a query
// with whose columns a masked one is compared.
func (s *maskScan) compared(numbered bool) []int {
	c := comparisonScan{maskScan: s, numbered: numbered}
	c.part(0, len(s.tokens), queryClause{}, false)
	if c.matches {
		c.found = append(c.found, c.returned...)
	}
	return c.found
}

// comparison is what stands between the words AND and OR, and the commas of a list.
type comparison struct {
	params     []int
	isMasked   bool // it has a masked column
	isCompared bool // it compares values
	isBetween  bool // the next AND belongs to BETWEEN
	columns    int  // and queries
}

// join adds what another comparison has.
func (c *comparison) join(other comparison) {
	c.params = append(slices.Clip(c.params), other.params...)
	c.isMasked = c.isMasked || other.isMasked
	c.isCompared = c.isCompared || other.isCompared
	c.columns += other.columns
}

// queryClause is a part of a query.
type queryClause struct {
	isCondition bool // or an order
	isList      bool // of columns
	isSource    bool // of rows
	depth       int  // of the parentheses around it
}

// choice is a CASE.
type choice struct {
	before  comparison // what stands before it
	operand comparison // what each WHEN is compared with
	result  comparison // what it may result in
	isWhen  bool       // the current place is between WHEN and THEN
	isFirst bool       // there was no WHEN yet
}

// part looks at the query in [i, end), or at a part of one that begins in a clause.
func (c *comparisonScan) part(i, end int, first queryClause, isQuery bool) {
	var (
		here        comparison
		clauses     = []queryClause{first} // around each other
		choices     []choice               // around each other
		depth       int
		listed      []int // parameters in lists
		listsMasked bool
		isMatched   bool // with another branch
	)
	current := func() *queryClause { return &clauses[len(clauses)-1] }
	isWhen := func() bool { return len(choices) > 0 && choices[len(choices)-1].isWhen }
	flush := func() {
		if isCondition := current().isCondition || isWhen(); here.isMasked && (isCondition ||
			current().isList && here.isCompared) {
			c.found = append(c.found, here.params...)
			c.matches = c.matches || isCondition && here.columns > 1
		}
		here = comparison{}
	}
	leave := func(at int) { // the clauses in parentheses that are deeper
		for ; len(clauses) > 1 && current().depth > at; clauses = clauses[:len(clauses)-1] {
			flush()
		}
	}
	enter := func(next queryClause) {
		if flush(); next.depth > current().depth {
			clauses = append(clauses, next)
		} else {
			*current() = next
		}
	}
	for ; i < end; i++ {
		word := c.word(i)
		here.isCompared = here.isCompared || comparingWords[word] && !(word == ">" && isArrow[c.word(i-1)]) ||
			word == "(" && isName(c.tokens[max(i-1, 0)]) && !joiningWords[c.word(i-1)] && !operatorWords[c.word(i-1)]
		switch {
		case c.beginsQuery(i):
			here.isMasked = here.isMasked || c.reads(i, i+1)
			here.columns++
			c.part(i+1, c.closes[i], queryClause{}, true)
			i = c.closes[i]
		case word == "(" && partWords[c.word(i+1)]:
			c.part(i+1, c.closes[i], queryClause{}, false)
			i = c.closes[i]
		case word == "(" && countingWords[c.word(i-1)]:
			c.part(i+1, c.closes[i], queryClause{isList: true}, false)
			i = c.closes[i]
		case isOpening(word):
			depth++
		case word == ")" || word == "]":
			depth--
			leave(depth)
		case word == "," && depth == current().depth && len(choices) == 0:
			flush()
		case word == "AND" && here.isBetween:
			here.isBetween = false
		case word == "AND" || word == "OR":
			flush()
		case word == "BETWEEN":
			here.isBetween = true
		case word == "CASE":
			choices = append(choices, choice{before: here, isFirst: true})
			here = comparison{}
		case len(choices) > 0 && (word == "WHEN" || word == "THEN" || word == "ELSE" || word == "END"):
			switch of := &choices[len(choices)-1]; {
			case of.isFirst:
				of.operand, of.isFirst = here, false
				here = comparison{}
			case of.isWhen:
				flush()
			default:
				of.result.join(here)
				here = comparison{}
			}
			of := &choices[len(choices)-1]
			if of.isWhen = word == "WHEN"; of.isWhen {
				here.join(of.operand)
			}
			if word == "END" {
				here = of.before
				here.join(of.result)
				choices = choices[:len(choices)-1]
			}
		case word == "ON" && c.word(i-1) == "DISTINCT" && c.word(i+1) == "(":
			enter(queryClause{isCondition: true, depth: depth + 1})
		case word == "GROUP" && c.word(i-1) == "WITHIN" || word == "FROM" && c.isOperand(0, i):
		case conditionWords[word]:
			enter(queryClause{isCondition: true, depth: depth})
		case listWords[word]:
			enter(queryClause{isList: true, depth: depth})
		case conditionEnds[word] && depth <= current().depth:
			enter(queryClause{isSource: word == "FROM" || word == "JOIN", depth: depth})
			isMatched = isMatched || matchingWords[word]
		case word == "NATURAL" || word == "USING" && c.namesMasked(i+1):
			c.matches = true
		default:
			if n, ok := c.parameter(i); ok {
				if here.params = append(here.params, n); current().isList {
					listed = append(listed, n)
				} else if current().isSource { // an argument of a function that returns rows
					c.returned = append(c.returned, n)
				}
			} else if c.isColumn(i) {
				here.columns++
				here.isMasked = here.isMasked || c.reads(i, i+1)
				listsMasked = listsMasked || current().isList && here.isMasked
			} else if strings.HasPrefix(c.tokens[i], stringToken) {
				here.isMasked = here.isMasked || c.namesPart(0, i)
			}
		}
	}
	flush()
	if isQuery || isMatched {
		c.returned = append(c.returned, listed...)
	}
	c.matches = c.matches || isMatched && listsMasked
}

// isArrow has the tokens before > in -> and #>, which take a part of a JSON document.
var isArrow = wordSet("- #")

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
