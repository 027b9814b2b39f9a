package sql

import (
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/template/sqltext"
)

// Effects implements hcl.EffectLister: one effect for each verb, with the tables of all renderings,
// and one for each statement.
func (b *block) Effects(*hcl.Connection) []hcl.Effect {
	if b.Statement != nil {
		return []hcl.Effect{{Verb: "READ", What: "any statement of the caller"}}
	}
	tables := map[string][]string{}
	for _, s := range b.statements() {
		for _, sample := range s.Samples() {
			found := tablesOf(sample.Text, b.dialect)
			for verb, names := range found {
				tables[verb] = append(tables[verb], names...)
			}
			if verb := s.KindOf(sample.Text).Verb; len(found[verb]) == 0 {
				what := ""
				if !slices.Contains(describedVerbs, verb) {
					what = adapters.TextDigest(strings.Join(strings.Fields(sample.Text), " "))
				}
				tables[verb] = append(tables[verb], what)
			}
			for _, name := range functionsOf(sample.Text, b.dialect) {
				tables["CALL"] = append(tables["CALL"], name+"()")
			}
		}
	}
	var effects []hcl.Effect
	for verb, names := range tables {
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if name == "" && len(names) > 1 && verb == "SELECT" {
				continue // another rendering reads a table
			}
			a := hcl.Effect{Verb: "WRITE", What: strings.TrimSpace(verb + " " + name)}
			switch {
			case verb == "CALL" && strings.HasSuffix(name, "()"):
				a = hcl.Effect{Verb: "CALL", What: name}
			case b.Exec == nil || verb == "SELECT":
				a.Verb = "READ"
			}
			effects = append(effects, a)
		}
	}
	for _, s := range b.statements() {
		layout := func(text string) string { return layOut(text, b.dialect) }
		effects = append(effects, hcl.Effect{Verb: "SQL", Source: []any{s}, Layout: layout})
	}
	slices.SortStableFunc(effects, func(x, y hcl.Effect) int { return strings.Compare(x.Verb+x.What, y.Verb+y.What) })
	return effects
}

var (
	// tableWords come before the name of a table, after a verb.
	tableWords = wordSet("INTO FROM TABLE ONLY IF EXISTS NOT OR REPLACE IGNORE LOW_PRIORITY QUICK DELAYED ABORT " +
		"FAIL ROLLBACK TEMP TEMPORARY UNLOGGED VIEW INDEX UNIQUE")
	// tableVerbs are followed by the table that they change.
	tableVerbs = wordSet("INSERT REPLACE UPDATE DELETE MERGE TRUNCATE CREATE ALTER DROP")
	// describedVerbs begin statements that their tables and functions describe; others are known by their digest.
	describedVerbs = []string{"SELECT", "VALUES", "WITH", "TABLE", "EXPLAIN", "SHOW", "DESCRIBE", "DESC", ""}
	// selectWords come before STRAIGHT_JOIN where it is a word of SELECT, and joins no table.
	selectWords = wordSet("SELECT ALL DISTINCT DISTINCTROW HIGH_PRIORITY")
	// sourceQueries begin a query in parentheses, where a table could stand.
	sourceQueries = wordSet("SELECT WITH VALUES TABLE")
	// sourceEnds end the list of tables after FROM.
	sourceEnds = wordSet("WHERE GROUP ORDER LIMIT HAVING UNION EXCEPT INTERSECT WINDOW OFFSET FETCH SET RETURNING " +
		"VALUES SELECT")
)

// tablesOf returns the tables of a statement by the verb that uses them; tables that are only read are
// those of SELECT. Names that WITH introduces are left out.
func tablesOf(text string, dialect sqltext.Dialect) map[string][]string {
	s := newTableScan(text, dialect)
	for i := range s.tokens {
		s.at(i)
	}
	return s.found
}

func newTableScan(text string, dialect sqltext.Dialect) *tableScan {
	tokens := tokensOf(withoutText(text, dialect, nil), dialect)
	s := &tableScan{tokens: tokens, found: map[string][]string{}}
	s.common()
	return s
}

// tableScan finds the tables of one statement.
type tableScan struct {
	tokens []string
	with   []string // names that WITH introduces
	found  map[string][]string
}

func (s *tableScan) word(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return strings.ToUpper(s.tokens[i])
}

// common notes the names that WITH introduces: a name, perhaps columns, and AS (.
func (s *tableScan) common() {
	if !slices.ContainsFunc(s.tokens, func(t string) bool { return strings.EqualFold(t, "WITH") }) {
		return
	}
	for i := range s.tokens {
		if s.word(i) != "AS" || s.word(i+1) != "(" && s.word(i+1) != "MATERIALIZED" && s.word(i+1) != "NOT" {
			continue
		}
		j := i - 1
		for s.word(j) == ")" {
			for j > 0 && s.word(j) != "(" {
				j--
			}
			j--
		}
		if j >= 0 {
			s.with = append(s.with, tableName(s.tokens[j]))
		}
	}
}

func (s *tableScan) at(i int) {
	switch word := s.word(i); {
	case tableVerbs[word] && s.beginsClause(i):
		j := i + 1
		for tableWords[s.word(j)] {
			j++
		}
		s.add(word, j)
		for ; word == "UPDATE" && j < len(s.tokens) && s.word(j) != "SET" && s.word(j) != "("; j++ {
			if s.word(j) == "," { // MySQL updates all tables of the list
				s.add(word, j+1)
			}
		}
	case word == "JOIN", word == "STRAIGHT_JOIN" && !selectWords[s.word(i-1)]:
		s.joined(i + 1)
	case word == "TABLE" && (i == 0 || s.word(i-1) == "(" || setWords[s.word(i-1)]):
		s.add("SELECT", i+1)
	case word == "FROM" && s.word(i-1) != "DELETE" && s.word(i-1) != "DISTINCT" && !s.isArgument(i):
		s.sources(i + 1)
	case word == "USING" && s.word(i+1) != "(" && !s.isArgument(i):
		s.sources(i + 1)
	}
}

// beginsClause reports whether a verb is one, and not a part of ON CONFLICT DO UPDATE, FOR UPDATE or
// ON DELETE.
func (s *tableScan) beginsClause(i int) bool {
	switch s.word(i - 1) {
	case "DO", "FOR", "ON", "KEY", "OR", "THEN", ",":
		return false
	}
	return s.word(i+1) != "(" // a function, such as REPLACE(
}

// joined adds the table at a token, or the tables in parentheses there.
func (s *tableScan) joined(i int) {
	for s.word(i) == "ONLY" || s.word(i) == "LATERAL" {
		i++
	}
	if s.word(i) == "(" && !sourceQueries[s.word(i+1)] {
		s.sources(i + 1)
		return
	}
	s.add("SELECT", i)
}

// sources adds the tables of a list after FROM.
func (s *tableScan) sources(i int) {
	for ; i < len(s.tokens); i++ {
		s.joined(i)
		for depth := 0; i < len(s.tokens); i++ { // to the next comma of the list
			switch word := s.word(i); {
			case word == "(":
				depth++
			case word == ")":
				depth--
			}
			if depth < 0 || depth == 0 && (s.word(i) == "," || s.endsSources(i)) {
				break
			}
		}
		if s.word(i) != "," {
			return
		}
	}
}

// isArgument reports whether a token is among the arguments of a function, as in EXTRACT(YEAR FROM born).
func (s *tableScan) isArgument(i int) bool {
	depth := 0
	for i--; i >= 0; i-- {
		switch s.word(i) {
		case ")":
			depth++
		case "(":
			if depth--; depth < 0 {
				next := s.word(i + 1)
				return next != "(" && !sourceQueries[next] && !tableVerbs[next]
			}
		}
	}
	return false
}

// endsSources reports whether a token ends the list of tables after FROM. Conditions of joins are within it.
func (s *tableScan) endsSources(i int) bool {
	switch s.word(i) {
	case "FOR":
		return s.word(i+1) != "SYSTEM_TIME"
	case "ON":
		return s.word(i+1) == "CONFLICT" || s.word(i+1) == "DUPLICATE"
	}
	return sourceEnds[s.word(i)]
}

// add adds the table at a token, unless it is none.
func (s *tableScan) add(verb string, i int) {
	if i >= len(s.tokens) {
		return
	}
	name := tableName(s.tokens[i])
	first := []rune(s.tokens[i])[0]
	isName := first == '_' || first == '"' || first == '`' || first == '[' && len(s.tokens[i]) > 1 ||
		first > 0x7f || first|0x20 >= 'a' && first|0x20 <= 'z' || first >= '0' && first <= '9' && len(s.tokens[i]) > 1
	isFunction := verb == "SELECT" && s.word(i+1) == "("
	if isName && !isFunction && !slices.Contains(s.with, name) && !sourceQueries[s.word(i)] {
		s.found[verb] = append(s.found[verb], name)
	}
}
