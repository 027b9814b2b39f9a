package sql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/wildcard"
)

// MaskedColumns implements hcl.ColumnDeriver. A column under another name, and one that is computed from a masked
// column, are masked as well. Only counts, sums and averages of a masked column are not, and whether it is null. Of the
// views and computed columns of the database, those that init of the connection creates are followed here, and the
// others by followed, for which the block keeps the mask. What functions of the database compute is not seen.
func (b *block) MaskedColumns(mask *eval.Mask) ([]string, error) {
	if b.Statement != nil {
		return nil, hcl.Blame(&b.Statement, "Mask %q applies to the connection %q, and a caller who writes the "+
			"statement could give a masked column another name, as in SELECT lower(email) AS x. Use a connection to "+
			"which no mask applies and whose login may not read the columns, or only views without them.",
			mask.Name, b.connection)
	}
	found := map[string]bool{}
	for _, statement := range b.statements() {
		if source := b.sendsMasked(statement, mask, found); source != "" {
			return nil, hcl.Blame(statement, "%s is masked by mask %q, and would be sent to the database, which could "+
				"return it under another name. Write one statement that reads the value itself, as INSERT … SELECT "+
				"does.", source, mask.Name)
		}
		for _, text := range statement.Renderings(maxFollowed) {
			s := b.newScan(text, mask)
			if s.run(); s.problem != "" {
				return nil, hcl.Blame(statement, "%s", s.problem)
			}
			maps.Copy(found, s.derived)
			for _, name := range mask.ColumnsOf(s.tables) {
				found[name] = true
			}
		}
	}
	columns := slices.Sorted(maps.Keys(found))
	b.masks = append(b.masks, eval.Applied{Mask: mask, Columns: (*eval.Columns)(&columns)})
	return columns, nil
}

// sendsMasked returns the source of a parameter that reads a masked column of an earlier result of the list; empty for
// none. Derived has the columns of the earlier statements that hold masked values.
func (b *block) sendsMasked(statement *sqltext.Program, mask *eval.Mask, derived map[string]bool) string {
	for _, sample := range statement.Samples() {
		for _, p := range sample.Sources {
			if !strings.Contains(p.Source, "output.results") {
				continue
			}
			words := nameParts.FindAllString(p.Source, -1)
			if slices.ContainsFunc(words, func(word string) bool { return derived[word] || mask.NamesMember(word) }) {
				return p.Source
			}
		}
	}
	return ""
}

// maxFollowed is how many renderings of a statement are followed at load. A call whose statement is another one is
// checked by itself; see followed.
const maxFollowed = 128

// newScan returns a scan of a statement that knows what init of the connection creates.
func (b *block) newScan(text string, mask *eval.Mask) *maskScan {
	s := newMaskScan(text, b.dialect, mask)
	s.define(b.definitions)
	return s
}

// run follows the columns until no further one is found: a name may be used before it is defined.
func (s *maskScan) run() {
	if explainWords[s.word(0)] {
		return // it has no values of rows
	}
	if s.problem == "" {
		s.problem = s.unknownNames()
	}
	for known := -1; known < len(s.derived)+len(s.whole) && s.problem == ""; {
		known = len(s.derived) + len(s.whole)
		s.columns = s.query(0, len(s.tokens))
		s.name(s.columns, "the statement")
	}
}

// unknownNames says why values may reach the result under names that a statement does not show; empty for none.
func (s *maskScan) unknownNames() string {
	for i := range s.tokens {
		switch {
		case s.isMySQL && s.word(i) == "@" && s.setsVariable(i):
			return fmt.Sprintf("The statement sets a variable of the session, through which what mask %q masks cannot "+
				"be followed. Use a query in WITH or FROM in its place.", s.mask.Name)
		case s.hasRows && s.word(i) == "U" && s.word(i+1) == "&":
			return fmt.Sprintf("The statement has a name or a text with escapes of Unicode, as in U&\"\\0065mail\", "+
				"which may be masked by mask %q. Write its characters.", s.mask.Name)
		}
	}
	return ""
}

// setsVariable reports whether the statement gives the variable of a session at a token a value. The first of a list
// tells of all.
func (s *maskScan) setsVariable(i int) bool {
	before := s.word(i - 1)
	return before == "INTO" || before == "SET" || s.word(i+2) == ":" && s.word(i+3) == "="
}

// selected is a column of a query.
type selected struct {
	name   string // empty for an expression without one
	masked bool
	star   bool // any number of columns, with the names of their tables
}

// name notes the masked columns of a query by their names.
func (s *maskScan) name(columns []selected, of string) {
	for _, c := range columns {
		switch {
		case !c.masked:
		case c.name != "":
			s.derived[c.name] = true
		case s.problem == "":
			s.problem = fmt.Sprintf("A column of %s is computed from what mask %q masks, and has no name. Give it "+
				"one: … AS name. It is masked by that name.", of, s.mask.Name)
		}
	}
}

var (
	// pathWords are functions whose arguments choose a part of a JSON document.
	pathWords = wordSet("JSON_EXTRACT JSONB_EXTRACT JSON_VALUE JSON_QUERY JSON_UNQUOTE JSON_EXTRACT_PATH " +
		"JSON_EXTRACT_PATH_TEXT JSONB_EXTRACT_PATH JSONB_EXTRACT_PATH_TEXT JSONB_PATH_QUERY JSONB_PATH_QUERY_ARRAY " +
		"JSONB_PATH_QUERY_FIRST")
	// explainWords begin statements that return how another one is run, or what a table is made of.
	explainWords = wordSet("EXPLAIN DESCRIBE DESC")
	// setWords come between the branches of a query.
	setWords = wordSet("UNION EXCEPT INTERSECT MINUS")
	// listEnds end the columns of a query.
	listEnds = wordSet("FROM WHERE GROUP HAVING ORDER LIMIT WINDOW FETCH OFFSET FOR INTO UNION EXCEPT INTERSECT " +
		"MINUS QUALIFY ;")
	// fromEnds end the tables of a query.
	fromEnds = wordSet("WHERE GROUP HAVING ORDER LIMIT WINDOW FETCH OFFSET FOR UNION EXCEPT INTERSECT MINUS SET " +
		"RETURNING VALUES SELECT ;")
	// namingWords are words of listEnds that can be the name of a column where no clause can begin.
	namingWords = wordSet("GROUP ORDER LIMIT WINDOW FETCH OFFSET FOR INTO MINUS QUALIFY HAVING UNION EXCEPT INTERSECT")
	// clauseFollowers come after a word that begins a clause, if not every operand can.
	clauseFollowers = map[string]map[string]bool{
		"GROUP": wordSet("BY"), "ORDER": wordSet("BY SIBLINGS"), "FETCH": wordSet("FIRST NEXT"),
		"FOR":   wordSet("UPDATE SHARE NO KEY SYSTEM_TIME READ"),
		"UNION": unitedWords, "EXCEPT": unitedWords, "INTERSECT": unitedWords, "MINUS": unitedWords,
	}
	// unitedWords begin a query after UNION.
	unitedWords = wordSet("ALL DISTINCT SELECT VALUES TABLE WITH (")
	// leadWords come before the columns of a query.
	leadWords = wordSet("ALL DISTINCT DISTINCTROW HIGH_PRIORITY STRAIGHT_JOIN SQL_SMALL_RESULT SQL_BIG_RESULT " +
		"SQL_BUFFER_RESULT SQL_NO_CACHE SQL_CACHE SQL_CALC_FOUND_ROWS")
	// fromWords come before a table.
	fromWords = wordSet("FROM JOIN LATERAL AS ONLY USING INTO UPDATE INNER LEFT RIGHT FULL OUTER CROSS NATURAL")
	// hintWords come before parentheses that hold no table.
	hintWords = wordSet("USING INDEX KEY BERNOULLI SYSTEM REPEATABLE PARTITION")
	// insertedWords begin what INSERT writes, after the names of its columns.
	insertedWords = wordSet("SELECT VALUES VALUE WITH TABLE OVERRIDING (")
	// operandEnds end an operand; after another operator word, a name is an operand, too.
	operandEnds = wordSet("END NULL TRUE FALSE")
	// operatorWords stand between operands.
	operatorWords = wordSet("AND OR NOT IN IS LIKE ILIKE BETWEEN CASE WHEN THEN ELSE DISTINCT COLLATE DIV MOD XOR " +
		"REGEXP RLIKE GLOB MATCH SIMILAR TO ESCAPE ALL ANY SOME AT BY INTERVAL CAST OVER FILTER WITHIN AS ORDER")
	// countingWords are functions whose results tell nothing of one value.
	countingWords = wordSet("COUNT SUM AVG TOTAL STD STDDEV STDDEV_POP STDDEV_SAMP VARIANCE VAR_POP VAR_SAMP EXISTS " +
		"OVER FILTER ROW_NUMBER RANK DENSE_RANK NTILE")
)

// query follows the query in [i, end) and returns its columns.
func (s *maskScan) query(i, end int) (columns []selected) {
	i = s.with(i, end)
	writes := tableVerbs[s.word(i)]
	returns := writes && s.returns(i, end)
	var written []string // the columns that INSERT names
	branches := 0
	add := func(branch []selected) {
		if branches++; branches == 1 {
			columns = branch
		} else {
			columns = s.unite(columns, branch)
		}
	}
	for i < end && s.problem == "" {
		switch word := s.word(i); {
		case writes && word == "WHERE":
			i = s.condition(i+1, end)
		case s.beginsQuery(i) && (branches == 0 || setWords[s.word(i-1)] || leadWords[s.word(i-1)]):
			if branch := s.query(i+1, s.closes[i]); returns {
				s.write(branch, written)
			} else {
				add(branch)
			}
			i = s.closes[i] + 1
		case word == "SELECT" || word == "RETURNING":
			var branch []selected
			switch branch, i = s.list(i+1, end); {
			case word == "RETURNING":
				columns = branch
			case !writes:
				add(branch)
			case returns:
				s.write(branch, written)
			}
			if s.word(i) == "FROM" {
				i = s.from(i+1, end)
			}
		case (word == "VALUES" || word == "VALUE") && returns || word == "VALUES" && !writes:
			branch, after := s.values(i+1, end)
			if i = after; !writes {
				add(branch)
			} else {
				s.write(branch, written)
			}
		case word == "TABLE" && branches == 0 && !writes || word == "TABLE" && setWords[s.word(i-1)]:
			add([]selected{{star: true}})
			i = s.from(i+1, end)
		case returns && (word == "SET" || word == "UPDATE" && s.word(i-1) == "KEY"):
			i = s.assign(i+1, end)
		case returns && word == "WITH":
			i = s.with(i, end)
		case word == "(":
			if returns && insertedWords[s.word(s.closes[i]+1)] {
				written = s.nameList(i)
			}
			i = s.closes[i] + 1
		case word == "USING" || word == "FROM" && branches == 0: // of a statement that writes
			i = s.from(i+1, end)
		default:
			i++
		}
	}
	return columns
}

// beginsQuery reports whether a token is a parenthesis around a query, and not around an expression or arguments that
// begin with one.
func (s *maskScan) beginsQuery(i int) bool {
	if s.word(i) != "(" {
		return false
	}
	switch s.word(i + 1) {
	case "SELECT", "WITH", "VALUES", "TABLE":
		return true
	}
	if !s.beginsQuery(i + 1) {
		return false
	}
	after := s.closes[i+1] + 1
	return after >= s.closes[i] || setWords[s.word(after)] || s.word(after) == "ORDER" || s.word(after) == "LIMIT"
}

// with follows the queries that WITH names, and returns where the query after them begins.
func (s *maskScan) with(i, end int) int {
	if s.word(i) != "WITH" {
		return i
	}
	if i++; s.word(i) == "RECURSIVE" {
		i++
	}
	for i < end {
		name := i
		var names []string
		if i++; s.word(i) == "(" {
			names = s.nameList(i)
			i = s.closes[i] + 1
		}
		for s.word(i) == "AS" || s.word(i) == "NOT" || s.word(i) == "MATERIALIZED" {
			i++
		}
		if s.word(i) != "(" {
			return i
		}
		s.rename(s.query(i+1, s.closes[i]), names, s.tokens[name])
		if i = s.closes[i] + 1; s.word(i) == "SEARCH" || s.word(i) == "CYCLE" {
			for i < end && s.word(i) != "SET" {
				i++
			}
			for i < end && s.word(i) != "," && !sourceQueries[s.word(i)] && !tableVerbs[s.word(i)] {
				i++
			}
		}
		if s.word(i) != "," {
			return i
		}
		i++
	}
	return end
}

// rename notes the masked columns of a query in FROM or WITH, whose columns may have other names there.
func (s *maskScan) rename(columns []selected, names []string, of string) {
	if names == nil {
		s.name(columns, of)
		return
	}
	for i, c := range columns {
		switch {
		case c.star && s.problem == "":
			s.problem = fmt.Sprintf("%s gives other names to the columns of *, so what mask %q masks cannot be "+
				"followed. Write the columns in place of *.", of, s.mask.Name)
		case i < len(names) && (c.masked || s.isMasked(c.name)):
			s.derived[names[i]] = true
		}
	}
}

// unite returns the columns of two branches, which have the names of the first.
func (s *maskScan) unite(first, second []selected) []selected {
	isStar := func(c selected) bool { return c.star }
	if (slices.ContainsFunc(first, isStar) || slices.ContainsFunc(second, isStar)) && s.problem == "" {
		s.problem = fmt.Sprintf("The branches of the statement have columns of *, which have the names of the first "+
			"branch, so what mask %q masks cannot be followed. Write the columns in place of *.", s.mask.Name)
	}
	united := slices.Clone(first)
	for i := range united {
		if i >= len(second) {
			break
		}
		sameName := strings.EqualFold(first[i].name, second[i].name)
		united[i].masked = first[i].masked || second[i].masked || !sameName && s.isMasked(second[i].name)
	}
	return united
}

// nameList returns the names in parentheses.
func (s *maskScan) nameList(open int) []string {
	names := []string{}
	for i := open + 1; i < s.closes[open]; i++ {
		if s.tokens[i] != "," {
			names = append(names, lastName(s.tokens[i]))
			for i+1 < s.closes[open] && s.tokens[i+1] != "," { // its type
				i++
			}
		}
	}
	return names
}

// isMasked reports whether a column of that name holds masked values.
func (s *maskScan) isMasked(name string) bool {
	name = eval.FirstName(name)
	return name != "" && (s.mask.NamesColumn(s.tables, name) || s.isDerived(name))
}

func (s *maskScan) isDerived(name string) bool {
	name = strings.ToLower(name)
	for known := range s.derived { // a pattern for the columns of * in a view
		if wildcard.Match(strings.ToLower(known), name) {
			return true
		}
	}
	return false
}

// list returns the columns that begin at a token, and where they end.
func (s *maskScan) list(i, end int) (columns []selected, _ int) {
	for leadWords[s.word(i)] {
		if i++; s.word(i) == "ON" && s.word(i+1) == "(" { // DISTINCT ON
			i = s.closes[i+1] + 1
		}
	}
	from := i
	for ; i <= end; i++ {
		word := s.word(i)
		switch {
		case i < end && isOpening(word):
			i = min(s.closes[i], end-1)
		case i == end || word == "," || s.endsList(from, i):
			if from < i {
				columns = append(columns, s.column(from, i))
			}
			if from = i + 1; word != "," {
				return columns, i
			}
		}
	}
	return columns, end
}

// endsList reports whether a token ends the columns that begin at another one. It does not if it is an operand or names
// a column.
func (s *maskScan) endsList(from, i int) bool {
	word := s.word(i)
	if !listEnds[word] || s.isOperand(from, i) || word != ";" && s.word(i-1) == "AS" {
		return false
	}
	if !namingWords[word] {
		return true
	}
	next := s.word(i + 1)
	if followers := clauseFollowers[word]; followers != nil {
		return followers[next]
	}
	return next != "" && next != "," && next != "AS" && next != ")" && next != "FROM" && i > from
}

// isOperand reports whether a word that ends columns elsewhere is a part of an expression, as in IS DISTINCT FROM and
// WITHIN GROUP.
func (s *maskScan) isOperand(from, i int) bool {
	return s.word(i) == "FROM" && s.word(i-1) == "DISTINCT" && i-1 > from ||
		s.word(i) == "GROUP" && s.word(i-1) == "WITHIN"
}

// column returns the column that the tokens in [i, end) give.
func (s *maskScan) column(i, end int) (c selected) {
	last := s.tokens[end-1]
	alone := end-i == 1
	switch {
	case alone && strings.HasSuffix(last, "*"), s.tokens[i] == "(" && last == "*" && s.word(end-2) == ".":
		return selected{star: true}
	case alone && isName(last):
		c.name = s.nameOf(last)
		c.masked = s.isDerived(c.name) || s.isWholeRow(last) && s.hidesRow(last)
		return c
	case s.word(end-2) == "AS":
		c.name, end = s.nameOf(last), end-2
	case s.isAlias(end - 1):
		c.name, end = s.nameOf(last), end-1
	}
	c.masked = s.tells(i, end, true)
	if end-i == 1 && isName(s.tokens[i]) {
		switch {
		case s.isWholeRow(s.tokens[i]) && !s.isMasked(lastName(s.tokens[i])):
			c.masked = s.hidesRow(s.tokens[i])
		case strings.EqualFold(lastName(s.tokens[i]), c.name):
			c.masked = s.isDerived(c.name) || s.isWholeRow(s.tokens[i])
		}
	}
	return c
}

// hidesRow reports whether the row of a table may hold masked values under names that the mask does not match in the
// result. The row of a table is an object there, and that of a query or a join is a text.
func (s *maskScan) hidesRow(table string) bool {
	isSame := func(name string) bool { return strings.EqualFold(name, lastName(table)) }
	isWith := func(token string) bool { return strings.EqualFold(token, "WITH") }
	return slices.ContainsFunc(s.records, isSame) || slices.ContainsFunc(s.tokens, isWith) ||
		len(s.derived)+len(s.mask.ColumnsOf(s.tables)) > 0
}

// isAlias reports whether the token after an operand is its name.
func (s *maskScan) isAlias(i int) bool {
	isText := !s.hasRows && strings.HasPrefix(s.tokens[i], stringToken) && isName(s.tokens[i-1])
	if !isName(s.tokens[i]) && !isText || operandEnds[s.word(i)] || strings.Contains(s.tokens[i], ".") && !isText {
		return false
	}
	before := s.tokens[i-1]
	return before == ")" || before == "]" || strings.HasPrefix(before, stringToken) || operandEnds[s.word(i-1)] ||
		isName(before) && !operatorWords[s.word(i-1)] || before[len(before)-1] >= '0' && before[len(before)-1] <= '9'
}

// isWholeRow reports whether a name is that of a table, which stands for its row.
func (s *maskScan) isWholeRow(token string) bool {
	name := lastName(token)
	return s.hasRows && slices.ContainsFunc(s.whole, func(row string) bool { return strings.EqualFold(row, name) })
}
