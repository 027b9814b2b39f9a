package dbschema

import (
	"context"
	"strings"

	"hatchel/internal/lazyregexp"
)

// constant matches a default value that is a constant, with or without a cast.
var constant = lazyregexp.New(`(?i)^\(*(?:'(?:[^']|'')*'|-?[0-9]+(?:\.[0-9]+)?|true|false)\)*` +
	`(?:::[\pL\pN_ ."()\[\],]+)?$`)

// checkDefaults lets the database judge the constant defaults of columns by the CHECK constraints. A default that
// violates one does not count, because a row without a value of the column cannot be inserted.
func (g *generator) checkDefaults(ctx context.Context, q Query, t *table) error {
	for _, c := range t.columns {
		if !c.insertable() || !constant.MatchString(c.defaultValue) {
			continue
		}
		for _, condition := range t.conditions {
			if !strings.Contains(strings.ToLower(condition), strings.ToLower(c.name)) {
				continue
			}
			row := "(SELECT " + c.defaultValue + " AS " + c.ref + ") t"
			rows, err := q(ctx, "SELECT NOT ("+condition+") AS violated FROM "+row)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && len(rows) == 1 && truth(rows[0], "violated") { // an error: it names other columns, too
				c.hasDefault = false
				g.result.Lose(t.origin(), "default not used",
					"the default of "+c.name+" violates a CHECK constraint", c.name)
				break
			}
		}
	}
	return nil
}

// conditionsOf returns the conditions in a text of a condition, or of a whole CREATE TABLE.
func conditionsOf(clause string) (conditions []string) {
	if len(clause) > maxClause {
		return nil
	}
	found := checkToken.FindAllStringSubmatchIndex(clause, -1)
	word := func(i int) string { return clause[found[i][0]:found[i][1]] }
	if len(found) == 0 {
		return nil
	}
	if first := word(0); !strings.EqualFold(first, "CHECK") && !strings.EqualFold(first, "CREATE") {
		return []string{clause}
	}
	for i := 0; i+1 < len(found); i++ {
		if !strings.EqualFold(word(i), "CHECK") || word(i+1) != "(" {
			continue
		}
		depth := 0
		for end := i + 1; end < len(found); end++ {
			switch word(end) {
			case "(":
				depth++
			case ")":
				depth--
			}
			if depth == 0 {
				conditions = append(conditions, clause[found[i+1][1]:found[end][0]])
				break
			}
		}
	}
	return conditions
}
