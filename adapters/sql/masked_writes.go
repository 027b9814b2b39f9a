package sql

import "fmt"

// returns reports whether a statement that writes returns columns of the rows that it has written.
func (s *maskScan) returns(i, end int) bool {
	for ; i < end; i++ {
		if s.word(i) == "(" {
			i = s.closes[i]
		} else if s.word(i) == "RETURNING" {
			return true
		}
	}
	return false
}

// condition returns where the condition of a statement that writes ends. It returns nothing.
func (s *maskScan) condition(i, end int) int {
	for ; i < end && s.word(i) != "RETURNING" && s.word(i) != "ON" && !setWords[s.word(i)]; i++ {
		if isOpening(s.word(i)) {
			i = s.closes[i]
		}
	}
	return i
}

// write notes the columns that get masked values by a statement that also returns them. Names are those of the columns
// that are written; nil for all columns of the table.
func (s *maskScan) write(columns []selected, names []string) {
	for i, c := range columns {
		switch {
		case names == nil && !c.star && !c.masked && !s.isMasked(c.name):
		case c.star || names == nil:
			if s.problem == "" {
				s.problem = fmt.Sprintf("The statement writes columns that mask %q may mask, and returns what it has "+
					"written, so what is masked cannot be followed. Name the columns of both: INSERT INTO … (a, b) "+
					"SELECT a, b.",
					s.mask.Name)
			}
		case i < len(names) && (c.masked || s.isMasked(c.name)):
			s.derive(names[i])
		}
	}
}

// derive notes a column that holds masked values, unless the mask names it.
func (s *maskScan) derive(name string) {
	if !s.isMasked(name) {
		s.derived[name] = true
	}
}

// assign notes the columns that SET gives masked values, as in SET name = email, and returns where it ends.
func (s *maskScan) assign(i, end int) int {
	for i < end && !fromEnds[s.word(i)] && s.word(i) != "FROM" {
		names := []string{lastName(s.tokens[i])}
		if s.word(i) == "(" {
			names = s.nameList(i)
			i = s.closes[i]
		}
		from := i + 1
		for i = from; i < end && s.word(i) != "," && (!fromEnds[s.word(i)] && s.word(i) != "FROM" ||
			s.isOperand(from, i)); i++ {
			if isOpening(s.word(i)) {
				i = s.closes[i]
			}
		}
		if i = min(i, end); s.reads(from, i) {
			for _, name := range names {
				s.derive(name)
			}
		}
		if s.word(i) != "," {
			return i
		}
		i++
	}
	return i
}

// values follows the rows of VALUES, which begin at a token, and returns where they end.
func (s *maskScan) values(i, end int) (columns []selected, _ int) {
	for ; i < end && (s.word(i) == "(" || s.word(i) == "," || s.word(i) == "ROW"); i++ {
		if s.word(i) != "(" {
			continue
		}
		for n, from := 0, i+1; from < s.closes[i]; n++ {
			to := from
			for ; to < s.closes[i] && s.word(to) != ","; to++ {
				if isOpening(s.word(to)) {
					to = s.closes[to]
				}
			}
			if n == len(columns) {
				columns = append(columns, selected{name: s.valueName(n)})
			}
			to = min(to, s.closes[i])
			columns[n].masked = columns[n].masked || s.reads(from, to)
			from = to + 1
		}
		i = min(s.closes[i], end)
	}
	return columns, i
}

// valueName returns the name of a column of VALUES; MySQL and MariaDB give different ones.
func (s *maskScan) valueName(n int) string {
	if s.isMySQL {
		return ""
	}
	return fmt.Sprintf("column%d", n+1)
}
