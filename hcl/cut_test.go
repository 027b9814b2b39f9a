package hcl_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// loadCut returns the backend of the first query in a tool with these parts.
func loadCut(t *testing.T, parts string) *Backend {
	t.Helper()
	src := fmt.Sprintf(`
		connection "sqlite" "db" { file = "a.db" }
		tool "t" {
		  description = "Numbers."
		  input "k" { type = optional(string, "rows") }
		  input "i" { type = optional(integer, 0) }
		  %s
		}`, parts)
	c, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, all.Set().Kinds(), Options{})
	if diags.HasErrors() {
		t.Fatalf("%s: %v", parts, diags)
	}
	for _, s := range c.Tools[0].Steps {
		if s.Backend.Kind == "sql" {
			return s.Backend
		}
	}
	return nil
}

const (
	listEach = `each = [1, 2]`
	mapEach  = `each = { a = 1 }`
	anyEach  = `each = step.got.body.ids`
)

func eachStep(each, rest string) string {
	return fmt.Sprintf(`
		step "got" {
		  http { get = "https://api.example.com/ids" }
		}
		step "q" {
		  %s
		  sql "db" { query = "SELECT n FROM t WHERE n > ${each.value}" }
		}
		%s`, each, rest)
}

func TestRowsOfElementsNeedNotBeWholeWhereOnlyOtherMembersAreRead(t *testing.T) {
	for _, c := range [][2]string{
		{listEach, `result = "map(step.q, .row?.n)"`},
		{listEach, `result = "let q = step.q; map(q, .row?.n)"`},
		{listEach, `result = "filter(step.q, .key > 0) | map(.key)"`},
		{listEach, `result = "find(step.q, .row == null)?.key"`},
		{listEach, `result = "map(sortBy(step.q, .key, 'desc'), .row?.n)"`},
		{listEach, `result = "step.q[1].row?.n"`},
		{listEach, `result = "step.q[:1] | map(.key)"`},
		{listEach, `result = "len(step.q)"`},
		{listEach, `result = "any(step.q, .row != null)"`},
		{mapEach, `result = "{keys: keys(step.q), a: step.q.a?.row}"`},
		{anyEach, `result = "{n: len(step.q), first: step.q[0].row, rest: map(step.q, .row?.n)}"`},
		{listEach, `text = "${join(",", step.q[*].row.n)}"`},
		{listEach, `text = "%{for s in step.q}${s.key}: ${s.row.n} %{endfor}"`},
		{listEach, `text = "${length(step.q)} ${step.q[input.i].row.n} ${(step.q)[0].row.n}"`},
		{anyEach, `text = "${length(step.q)} ${step.q[0].row.n} ${join(",", [for s in step.q : s.row.n])}"`},
		{listEach, `
			step "chained" {
			  each = step.q
			  http { get = "https://api.example.com/${each.value.row == null ? 0 : each.value.row.n}" }
			}
			text = "Done."`},
	} {
		if b := loadCut(t, eachStep(c[0], c[1])); len(b.Whole) > 0 {
			t.Errorf("%s %s: needs all of %v", c[0], c[1], b.Whole)
		}
	}
}

func TestRowsOfElementsMustBeWholeWhereTheyAreRead(t *testing.T) {
	for _, c := range [][2]string{
		{listEach, `result = "step.q"`},
		{listEach, `result = "map(step.q, #)"`},
		{listEach, `result = "map(step.q, len(.rows))"`},
		{listEach, `result = "let q = step.q; let first = q[0].rows; len(first)"`},
		{listEach, `result = "filter(step.q, .key > 0)"`},
		{listEach, `result = "[step.q[0]][0].rows | len()"`},
		{listEach, `result = "reduce(step.q, #acc + len(#.rows), 0)"`},
		{listEach, `result = "{a: map(step.q, {{x: #}})}"`},
		{mapEach, `result = "len(values(step.q)[0].rows)"`},
		{mapEach, `result = "len(step.q.a?.rows ?? [])"`},
		{anyEach, `result = "map(step.q, len(.rows))"`},
		{anyEach, `result = "step.q[0].rows"`},
		{listEach, `text = "${length(flatten(step.q[*].rows))}"`},
		{listEach, `text = "%{for s in step.q}%{for r in s.rows}${r.n}%{endfor}%{endfor}"`},
		{listEach, `text = "${jsonencode({ for k, s in step.q : k => s })}"`},
		{listEach, `
			locals { first = step.q[0] }
			text = "${length(local.first.rows)}"`},
		{anyEach, `text = "${length(step.q[0].rows)}"`},
		{anyEach, `text = "%{for s in step.q}${length(s.rows)}%{endfor}"`},
		{anyEach, `
			step "saved" {
			  csv {
			    directory = "."
			    file      = "a.csv"
			    rows      = flatten(step.q[*].rows)
			  }
			}
			text = "${step.saved.count} lines saved"`},
		{listEach, `
			step "chained" {
			  each = step.q
			  http { get = "https://api.example.com/${length(each.value.rows)}" }
			}
			text = "Done."`},
	} {
		if b := loadCut(t, eachStep(c[0], c[1])); len(b.Whole) != 1 || b.Whole[0] != "rows" {
			t.Errorf("%s %s: needs all of %v, want [rows]", c[0], c[1], b.Whole)
		}
	}
}

func TestACutRowIsFollowedThroughOtherValues(t *testing.T) {
	const query = `sql "db" { query = "SELECT n FROM t" }
	`
	for _, folds := range []string{
		`result = "len([output.rows, 5][0])"`,
		`result = "len([output.rows, []][0])"`,
		`result = "len(output[input.k])"`,
		`result = "let o = {(input.k): output.rows}; len(o.rows ?? [])"`,
		`result = "len((input.i > 0 ? {a: output.rows} : {b: 1}).a)"`,
		`result = "len(reduce([1], output.rows, 0))"`,
		`result = "len((groupBy([{a: output.rows}], 1)['1'] ?? [])[0].a)"`,
		`text = "${length([output.rows, [1]][0])}"`,
		`text = "${length([output.rows, 5][0])}"`,
		`text = "${length(output[input.k])}"`,
		`text = "${length({ (input.k) = output.rows }[input.k])}"`,
	} {
		if b := loadCut(t, query+folds); len(b.Whole) == 0 {
			t.Errorf("%s: may work with a part of the rows", folds)
		}
	}
}

func TestARowThatALimitMayHaveCutIsNotNull(t *testing.T) {
	b := loadCut(t, `
		step "q" {
		  sql "db" { query = "SELECT n FROM t" }
		}
		text = "${step.q.rows[1500].n}"`)
	if len(b.Whole) == 0 {
		t.Error("row 1500 of a step is null if the limit has cut it")
	}
	if b := loadCut(t, `
		sql "db" { query = "SELECT n FROM t" }
		text = "${output.rows[1500].n}"`); len(b.Delivered) == 0 {
		t.Error("row 1500 is null without a notice if the limit has cut it")
	}
	if b := loadCut(t, `
		sql "db" { query = "SELECT n FROM t" }
		text = "${output.rows[0].n}"`); len(b.Delivered)+len(b.Whole) > 0 {
		t.Error("the first row is there however many there are")
	}
}

func TestAnExpectationOfOneStatementNeedsNoRowsOfOthers(t *testing.T) {
	b := loadCut(t, `
		sql "db" { exec = ["UPDATE t SET n = 1 RETURNING n", "DELETE FROM u"] }
		expect "none" { that = "output.results[0].affected > 0" }
		text = "Done."`)
	if len(b.Whole) > 0 {
		t.Errorf("needs all of %v", b.Whole)
	}
}
