package sql

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/template/sqltext"
)

// Tables implements hcl.TableLister.
func (b *block) Tables(conn *hcl.Connection) []hcl.TableUse {
	if c, ok := conn.Config.(*serverConnection); ok && newIdentifier(c, conn.Name) != nil {
		return nil
	}
	var field any = &b.Query
	switch {
	case b.Statement != nil:
		return []hcl.TableUse{{Field: &b.Statement, Unchosen: true}}
	case b.Exec != nil:
		field = &b.Exec
	}
	var views map[string][]string
	if c, ok := conn.Config.(*sqliteConnection); ok {
		views = viewsOf(c.Init, b.dialect)
	}
	var uses []hcl.TableUse
	for _, statement := range b.statements() {
		found := map[string]*hcl.TableUse{}
		for _, sample := range statement.Samples() {
			for table, rows := range rowsOf(sample, b.dialect, views) {
				use := found[table]
				if use == nil {
					use = &hcl.TableUse{Table: nameKey(table, b.dialect), Field: field, Unchosen: true}
					found[table] = use
				}
				use.Unchosen = use.Unchosen && rows.unchosen
				for _, at := range rows.chosen {
					use.Chosen = append(use.Chosen, diag.RangeOf(sample.Sources[at].Range))
				}
			}
		}
		for _, table := range slices.Sorted(maps.Keys(found)) {
			uses = append(uses, *found[table])
		}
	}
	return uses
}

// nameKey returns the parts of a name of tablesOf as the database compares them.
func nameKey(name string, dialect sqltext.Dialect) []string {
	parts := nameParts.FindAllString(name, -1)
	if dialect != sqltext.PostgreSQL {
		for i, part := range parts {
			parts[i] = strings.ToLower(part)
		}
	}
	return parts
}

// viewsOf returns the tables of the views that statements create.
func viewsOf(statements string, dialect sqltext.Dialect) map[string][]string {
	views := map[string][]string{}
	for _, statement := range splitStatements(statements, dialect) {
		words := strings.Fields(strings.ToUpper(statement))
		if at := slices.Index(words, "VIEW"); at < 1 || at > 3 || words[0] != "CREATE" {
			continue
		}
		found := tablesOf(statement, dialect)
		for _, view := range found["CREATE"] {
			views[view] = append(views[view], found["SELECT"]...)
		}
	}
	return views
}

// tableRows are the rows of a table that a rendering uses.
type tableRows struct {
	chosen   []int // parameters that choose the rows
	unchosen bool  // no parameter chooses those of one part
}

// rowsOf returns which parameters choose the rows of each table of a rendering. Tables of views are those of the
// statement, too.
func rowsOf(sample sqltext.Sample, dialect sqltext.Dialect, views map[string][]string) map[string]tableRows {
	s := &partScan{
		tableScan: newTableScan(sample.Text, dialect), numbered: dialect == sqltext.PostgreSQL,
		common: map[string][]int{},
	}
	s.scan()
	out := map[string]tableRows{}
	var add func(table string, chosen []int, depth int)
	add = func(table string, chosen []int, depth int) {
		rows := out[table]
		rows.chosen = append(rows.chosen, chosen...)
		rows.unchosen = rows.unchosen || len(chosen) == 0
		out[table] = rows
		for _, base := range views[table] {
			if depth < len(views) {
				add(base, chosen, depth+1)
			}
		}
	}
	for at, part := range s.parts {
		chosen := slices.Concat(s.reach(at, s.above, map[int]bool{}), s.reach(at, s.below, map[int]bool{}))
		for verb, tables := range part.tables {
			written := chosen
			if verb == "INSERT" || verb == "REPLACE" {
				written = slices.Concat(chosen, part.values)
			}
			for _, table := range tables {
				add(table, written, 0)
			}
		}
	}
	return out
}

// clause is the kind of a clause of a statement.
type clause byte

const (
	otherClause  clause = iota // such as ORDER BY
	valuesClause               // the results of SELECT, VALUES, SET
	sourceClause               // FROM, JOIN, USING
	rowsClause                 // WHERE, ON, HAVING
)

// clauses are the clauses by the word that begins them.
var clauses = map[string]clause{
	"SELECT": valuesClause, "RETURNING": valuesClause, "SET": valuesClause, "VALUES": valuesClause,
	"FROM": sourceClause, "JOIN": sourceClause, "USING": sourceClause,
	"WHERE": rowsClause, "ON": rowsClause, "HAVING": rowsClause, "MATCHED": rowsClause,
	"GROUP": otherClause, "ORDER": otherClause, "LIMIT": otherClause, "OFFSET": otherClause, "FETCH": otherClause,
	"WINDOW": otherClause, "WITH": otherClause, "INSERT": otherClause, "UPDATE": otherClause, "DELETE": otherClause,
}

// statementPart is a part of a statement that has rows of its own: the statement, a query in parentheses, or a branch
// of UNION.
type statementPart struct {
	around int  // the part around it; -1 for none
	joined bool // its rows choose those of the part around it
	now    clause
	tables map[string][]string // by verb
	refers []string            // names of WITH that it reads
	chosen []int               // parameters in conditions and sources
	values []int               // parameters in values
}

// partScan finds the parts of one statement.
type partScan struct {
	*tableScan
	numbered bool // the placeholders are $1, $2 and so on, and not ?
	parts    []*statementPart
	common   map[string][]int // the parts of the queries of WITH, by name
	params   int              // placeholders so far
}

// parenthesis is one that is open.
type parenthesis struct {
	part   int
	query  bool   // it holds a query
	called bool   // it holds the arguments of a function
	name   string // of WITH that the query has
}

var (
	queryWords  = wordSet("SELECT WITH VALUES TABLE INSERT UPDATE DELETE MERGE")
	branchWords = wordSet("UNION EXCEPT INTERSECT MINUS")
	// uncalledWords come before a parenthesis without being the name of a function.
	uncalledWords = wordSet("IN EXISTS ANY ALL SOME AND OR NOT ON USING WHERE FROM JOIN AS SELECT VALUES LATERAL BY " +
		"THEN ELSE WHEN SET HAVING UNION EXCEPT INTERSECT MATERIALIZED RETURNING")
)

// open adds a part, whose clause has not begun.
func (s *partScan) open(p parenthesis, around int, joined bool) parenthesis {
	s.parts = append(s.parts, &statementPart{around: around, joined: joined, tables: map[string][]string{}})
	p.part, p.query = len(s.parts)-1, true
	if p.name != "" {
		s.common[p.name] = append(s.common[p.name], p.part)
	}
	return p
}

func (s *partScan) scan() {
	stack := []parenthesis{s.open(parenthesis{}, -1, false)}
	for i := range s.tokens {
		top := &stack[len(stack)-1]
		part := s.parts[top.part]
		switch word := s.word(i); {
		case word == "(" && queryWords[s.word(i+1)]:
			p := parenthesis{name: s.commonName(i)}
			around := top.part
			if p.name != "" {
				around = -1 // the parts that read it
			}
			stack = append(stack, s.open(p, around, part.now >= sourceClause))
		case word == "(":
			stack = append(stack, parenthesis{part: top.part, called: s.isCall(i)})
		case word == ")" && len(stack) > 1:
			stack = stack[:len(stack)-1]
		case top.query && branchWords[word]:
			*top = s.open(parenthesis{name: top.name}, part.around, part.joined)
		case word == "$" && s.numbered || word == "?" && !s.numbered:
			s.parameter(part, i)
		default:
			s.enter(part, top, i)
			s.table(part, top, i)
		}
	}
}

// commonName returns the name of WITH whose query begins in the parenthesis at a token; empty for none.
func (s *partScan) commonName(i int) string {
	for i--; s.word(i) == "MATERIALIZED" || s.word(i) == "NOT"; i-- {
	}
	if s.word(i) != "AS" {
		return ""
	}
	for i--; s.word(i) == ")"; i-- {
		for i > 0 && s.word(i) != "(" {
			i--
		}
	}
	if i < 0 {
		return ""
	}
	if name := tableName(s.tokens[i]); slices.Contains(s.with, name) {
		return name
	}
	return ""
}

// isCall reports whether the parenthesis at a token follows the name of a function.
func (s *partScan) isCall(i int) bool {
	before := s.word(i - 1)
	return before != "" && !uncalledWords[before] && (before[0] == '_' || before[0] == '"' || before[0] == '`' ||
		before[0] >= 'A' && before[0] <= 'Z' || before[0] >= 0x80)
}

// enter begins the clause that a token begins.
func (s *partScan) enter(part *statementPart, top *parenthesis, i int) {
	word, before := s.word(i), s.word(i-1)
	now, begins := clauses[word]
	switch {
	case !begins || !top.query || before == "DISTINCT":
		return
	case word == "ON" && (s.word(i+1) == "CONFLICT" || s.word(i+1) == "DUPLICATE"), word == "UPDATE":
		now = valuesClause
	case word == "WITH" && s.word(i+1) == "TIES":
		return
	}
	part.now = now
}

// parameter adds the placeholder at a token.
func (s *partScan) parameter(part *statementPart, i int) {
	at := s.params
	s.params++
	if s.numbered {
		digits := ""
		for i++; i < len(s.tokens) && len(s.tokens[i]) == 1 && s.tokens[i][0] >= '0' && s.tokens[i][0] <= '9'; i++ {
			digits += s.tokens[i]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return
		}
		at = n - 1
	}
	switch {
	case part.now >= sourceClause:
		part.chosen = append(part.chosen, at)
	case part.now == valuesClause:
		part.values = append(part.values, at)
	}
}

// table adds the tables that the scan finds at a token, and the names of WITH that it reads.
func (s *partScan) table(part *statementPart, top *parenthesis, i int) {
	if part.now == sourceClause {
		if name := tableName(s.tokens[i]); slices.Contains(s.with, name) {
			part.refers = append(part.refers, name)
		}
	}
	if s.word(i) == "FROM" && top.called {
		return // as in EXTRACT(YEAR FROM at)
	}
	s.found = map[string][]string{}
	s.at(i)
	if s.word(i) == "TABLE" && (i == 0 || s.word(i-1) == "(" || branchWords[s.word(i-1)] || s.word(i-1) == "ALL") {
		s.add("SELECT", i+1)
	}
	for verb, names := range s.found {
		part.tables[verb] = append(part.tables[verb], names...)
	}
}

// reach returns the parameters in the conditions of a part and of all parts that next leads to from it.
func (s *partScan) reach(at int, next func(int) []int, seen map[int]bool) []int {
	if seen[at] {
		return nil
	}
	seen[at] = true
	chosen := slices.Clone(s.parts[at].chosen)
	if s.parts[at].joined || s.isCommon(at) {
		chosen = append(chosen, s.parts[at].values...) // they are rows of a source
	}
	for _, other := range next(at) {
		chosen = append(chosen, s.reach(other, next, seen)...)
	}
	return chosen
}

func (s *partScan) isCommon(at int) bool {
	for _, parts := range s.common {
		if slices.Contains(parts, at) {
			return true
		}
	}
	return false
}

// above returns the parts whose conditions choose among the rows of a part.
func (s *partScan) above(at int) (parts []int) {
	if around := s.parts[at].around; around >= 0 {
		parts = append(parts, around)
	}
	for name, queries := range s.common {
		if !slices.Contains(queries, at) {
			continue
		}
		for i, p := range s.parts {
			if slices.Contains(p.refers, name) && !slices.Contains(queries, i) {
				parts = append(parts, i)
			}
		}
	}
	return parts
}

// below returns the parts whose rows choose those of a part.
func (s *partScan) below(at int) (parts []int) {
	for i, p := range s.parts {
		if p.around == at && p.joined {
			parts = append(parts, i)
		}
	}
	for _, name := range s.parts[at].refers {
		parts = append(parts, s.common[name]...)
	}
	return parts
}
