package sql

import (
	"fmt"
	"slices"
)

// from follows the tables that begin at a token, and returns where they end.
func (s *maskScan) from(i, end int) int {
	isCondition := false
	for ; i < end && s.problem == ""; i++ {
		word := s.word(i)
		switch {
		case word == "FOR" && s.word(i+1) == "SYSTEM_TIME":
		case fromEnds[word]:
			return i
		case word == "ON":
			isCondition = true
		case word == "JOIN" || word == "STRAIGHT_JOIN" || word == ",":
			isCondition = false
		case word != "(":
			if !isCondition && isName(s.tokens[i]) && !operatorWords[word] && !s.namesFunction(i) {
				if s.addWhole(s.tokens[i]); s.word(i-1) == ")" || s.word(i-1) == "AS" && s.word(i-2) == ")" {
					s.records = append(s.records, lastName(s.tokens[i]))
				}
			}
		case isCondition || hintWords[s.word(i-1)]:
			i = s.closes[i]
		case isName(s.tokens[i-1]) && !fromWords[s.word(i-1)] && s.word(i-1) != "STRAIGHT_JOIN":
			s.call(i)
			i = s.closes[i]
		case s.beginsQuery(i):
			i = s.table(i)
		default: // joined tables
			s.from(i+1, s.closes[i])
			i = s.closes[i]
		}
	}
	return end
}

// call looks at a function in FROM, or at the names of the columns of a table.
func (s *maskScan) call(open int) {
	name := s.tokens[open-1]
	before := open - 2
	if s.word(before) == "AS" {
		before--
	}
	isAlias := before >= 0 && isName(s.tokens[before]) && !fromWords[s.word(before)]
	isJoin := before >= 0 && s.tokens[before] == ")" && !s.namesFunction(open-1)
	switch {
	case isJoin && s.problem == "":
		s.problem = fmt.Sprintf("%s gives other names to the columns of a join, so what mask %q masks cannot be "+
			"followed. Use the names of the columns.", name, s.mask.Name)
	case s.problem != "" || s.tokens[max(before, 0)] == ")" || s.word(before) == "ORDINALITY":
	case isAlias:
		s.problem = fmt.Sprintf("%s gives other names to the columns of %s, so what mask %q masks cannot be followed. "+
			"Use the names of the columns.", name, s.tokens[before], s.mask.Name)
	case s.returnsValues(open - 1):
		s.nameValues(s.closes[open] + 1)
	case s.reads(open-1, s.closes[open]):
		s.problem = fmt.Sprintf("%s in FROM reads what mask %q masks, and what it returns cannot be followed. Return "+
			"the column itself.", name, s.mask.Name)
	}
}

// namesFunction reports whether a token is the name that FROM gives to a function, whose value it stands for.
func (s *maskScan) namesFunction(i int) bool {
	if s.word(i-1) == "AS" {
		i--
	}
	if s.word(i-1) != ")" {
		return s.word(i+1) == "("
	}
	for open := range s.tokens[:i] {
		if s.closes[open] == i-1 && s.word(open) == "(" {
			return open > 0 && isName(s.tokens[open-1]) && !fromWords[s.word(open-1)] && !s.beginsQuery(open)
		}
	}
	return false
}

// nameValues notes the columns of a function that returns values of members, after which there may be other names for
// them, as in json_each(data) AS m(k, v).
func (s *maskScan) nameValues(i int) {
	if s.word(i) == "AS" {
		i++
	}
	if i < len(s.tokens) && isName(s.tokens[i]) && s.word(i+1) == "(" {
		for _, name := range s.nameList(i + 1) {
			s.derived[name] = true
		}
		return
	}
	s.derived["value"], s.derived["atom"], s.documents = true, true, true
	if s.hasRows && i < len(s.tokens) && isName(s.tokens[i]) && !fromEnds[s.word(i)] && s.word(i) != "JOIN" {
		s.derived[lastName(s.tokens[i])] = true // its row
	}
}

// addWhole notes the name of a table in FROM, or its alias.
func (s *maskScan) addWhole(token string) {
	if name := lastName(token); !slices.Contains(s.whole, name) {
		s.whole = append(s.whole, name)
	}
}

// table follows a query in FROM, and returns its last token.
func (s *maskScan) table(open int) int {
	columns := s.query(open+1, s.closes[open])
	i := s.closes[open] + 1
	if s.word(i) == "AS" {
		i++
	}
	of, names := "a query in FROM", []string(nil)
	if i < len(s.tokens) && isName(s.tokens[i]) && !fromEnds[s.word(i)] && !operatorWords[s.word(i)] &&
		s.word(i) != "JOIN" && s.word(i) != "ON" {
		of = s.tokens[i]
		s.records = append(s.records, lastName(of))
		if s.addWhole(of); s.word(i+1) == "(" {
			names = s.nameList(i + 1)
			s.rename(columns, names, of)
			return s.closes[i+1]
		}
	} else {
		i--
	}
	s.rename(columns, names, of)
	return i
}
