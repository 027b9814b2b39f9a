package sqltext

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hatchel/hcl/template"
)

var (
	statements = flag.Int("statements", 3000, "how many random statements TestServersFindTheParametersThatWeBind tries on each server")
	seed       = flag.Uint64("seed", 1, "where the random statements begin")
)

// hostile are values that would change a statement if they ever became a part of its text.
var hostile = []string{"' OR '1'='1", "'; DROP TABLE t; --", `\`, `\'; --`, `"`, "`", "]", "*/", "/*", "--", "#", "$$", "$a$", "?", "$1", ":a", "@a", "\n", ");", "NULL", "${x}", "%s", "' UNION SELECT", "ÿ'", "‘"}

const valueTypes = `s string
n integer
a any
l list(string)
i list(integer)
r list(list(any))
e enum(a b)
c bool
w string
k texts(a = 'x'|b > 1 /* ' */|c LIKE '--')
`

// A generator writes random templates: mostly valid statements of a dialect, then damaged here and there.
type generator struct {
	*rand.Rand
	dialect Dialect
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

var common = []string{"1", "1.5e3", ".5", "'a'", "'it''s'", "'--'", "'/*'", "'*/'", "'?'", "'$1'", "':x'", "''", "a", "t.a", "b", "-1", "- -1", "1/2", "NULL", "(1)", "CASE WHEN 1=1 THEN 2 END",
	"1 -- ' \" ` /* \n", "/* ' \" ` -- */ 1", "/* a * / **/ 2", "'a' = 'b'", "t.b-1", "b*2", "coalesce(a, 'x')", "(SELECT 1)", "EXISTS (SELECT 1 FROM u WHERE u.a = t.a)"}

var special1 = map[Dialect][]string{
	SQLite:     {"[a]", "`a`", `"a"`, `"it""s"`, "x'41'", "t.[a]", `'\'`, "b->'$.a'", "a ->> '$'", "a GLOB '*'", "a MATCH 'x' OR 1", "1 -- \r ' \n"},
	PostgreSQL: {`E'\''`, `E'it\\'`, "$$'$$", "$a$ $$ ' $a$", "$é$ ' $é$", `U&'\0041'`, "B'1'", "'a'::text", "(ARRAY[1,2,3])[1:2]", "(ARRAY[1,2])[b:b]", "'{}'::jsonb ? 'k'", "'{}'::jsonb ?| array['x']", "/* /* ' */ ' */ 1", "'a'\n'b'", "E'a'\n'b'", "@ -5", "2 #1", `'\'`, `"a"`, "1 -- ' \r", "b !=-1", "5 OPERATOR(pg_catalog.+) 3", "a IS DISTINCT FROM 'x'", "extract(year FROM d)", "1_0"},
	MySQL:      {`'\''`, `'it\\'`, `"it's"`, `"a""b"`, "`a`", "1--1", "1---1", "1 # ' \n", "@v", "x'41'", `_utf8mb4'\''`, "1 --\t' \n", "a <=> 'x'", "@@sql_mode", "5 DIV 2", "a RLIKE 'x'", "/*+ ' */ 1", "1e5", "d + INTERVAL 1 DAY"},
}

var bound = []string{"${s}", "(${s})", "a = ${s}", "b > ${n}", "b=${n}", "-${n}", "coalesce(a, ${s})", "a IN ${l}", "b NOT IN ${i}", "a IN (${s}, ${s})", "a IN (${s},'x')", "CASE WHEN a = ${s} THEN ${s} ELSE 'x' END",
	"a BETWEEN ${s} AND ${s}", "a LIKE ${s}", "${s} = a", "a IN ${a}", "${k} = 1", "%{if c}a = ${s}%{else}'%{endif}", "%{for w in l}a = ${w} OR %{endfor} 1 = 1", "a IN (%{for w in l}%{if more}, %{endif}${w}%{endfor})", "${raw(k)}", "t.${ident(e)}", "${ident(e)}",
	"%{if c}1%{else}2%{endif}", "%{if c}a = ${s} AND %{endif}b = ${n}", "a %{if c}NOT IN ${l}%{else}IN ${l}%{endif}", "(SELECT ${s} FROM u WHERE b = ${n} LIMIT ${n})"}

func (g *generator) atom() string {
	switch g.IntN(5) {
	case 0, 1:
		return g.pick(bound...)
	case 2:
		return g.pick(special1[g.dialect]...)
	}
	return g.pick(common...)
}

func (g *generator) list(sep ...string) string {
	s := g.atom()
	for range g.IntN(4) {
		s += g.pick(sep...) + g.atom()
	}
	return s
}

// condition is a list of atoms where PostgreSQL, which is strict with types, takes them.
func (g *generator) condition(sep ...string) string {
	if g.dialect != PostgreSQL {
		return g.list(sep...)
	}
	s := "(" + g.atom() + ")::text = 'x'"
	for range g.IntN(4) {
		s += g.pick(sep...) + "(" + g.atom() + ")::text = 'x'"
	}
	return s
}

func (g *generator) statement() string {
	switch g.IntN(8) {
	case 0:
		return "INSERT INTO t (a, b) VALUES " + g.pick("${r}", "("+g.atom()+", "+g.atom()+")", "(${s}, ${n}), (${s}, ${n})")
	case 1:
		return "UPDATE t SET a = " + g.atom() + ", b=" + g.atom() + " WHERE " + g.condition(" AND ", " OR ")
	case 2:
		return "DELETE FROM t WHERE " + g.condition(" AND ", " OR ") + g.pick("", ";", " ; -- x")
	}
	s := "SELECT " + g.list(", ", ",", " , -- ' \n", "/* ' */,", " = ", "||", "-", " - ", "+") + " FROM t"
	if g.IntN(2) == 0 {
		s += " WHERE " + g.condition(" AND ", "\nOR ")
	}
	if g.IntN(4) == 0 {
		s += " ORDER BY " + g.pick("a", "${ident(e)} DESC", "${e}", "lower(a), b")
	}
	return s + g.pick("", "", " LIMIT ${n}", ";", " -- ' ", "/* ' */")
}

const damage = `'"-/*#$?:@[]();\e1 .` + "`\n\t"

// damaged puts a byte, an interpolation or the end of a quote where it does not belong, outside the notation's own marks.
func (g *generator) damaged(s string) string {
	for range g.IntN(4) {
		at := g.IntN(len(s) + 1)
		if strings.Count(s[:at], "{") != strings.Count(s[:at], "}") || at < len(s) && s[at] == '{' {
			continue
		}
		switch g.IntN(6) {
		case 0:
			s = s[:at] + "${s}" + s[at:]
		case 1:
			s = s[:at] + " ${n} " + s[at:]
		case 2:
			if at < len(s) && !strings.ContainsRune("$%{", rune(s[at])) {
				s = s[:at] + s[at+1:]
			}
		default:
			c := damage[g.IntN(len(damage))]
			if at < len(s) && (s[at] == '$' || s[at] == '%') && c == '$' {
				continue
			}
			s = s[:at] + string(c) + s[at:]
		}
	}
	return s
}

func (g *generator) values(text func() string) scope {
	list := func(of func() any) []any {
		out := make([]any, g.IntN(4))
		for i := range out {
			out[i] = of()
		}
		return out
	}
	str := func() any { return text() }
	num := func() any { return g.IntN(100) }
	rows := make([]any, 1+g.IntN(2))
	for i := range rows {
		rows[i] = []any{text(), g.IntN(100)}
	}
	kinds := []string{"a = 'x'", "b > 1 /* ' */", "c LIKE '--'"}
	return scope{"s": text(), "n": g.IntN(100), "a": list(str), "l": list(str), "i": list(num), "r": rows, "e": g.pick("a", "b"), "c": g.IntN(2) == 0, "w": "", "k": g.pick(kinds...)}
}

// The servers' own lexers are the judge: whatever statement we let through, they find as many parameters in it as we bind,
// and a hostile value gives the same text as an innocent one.
func TestServersFindTheParametersThatWeBind(t *testing.T) {
	types := parseTypes(t, valueTypes)
	for d, prepare := range servers(t) {
		t.Run(d.String(), func(t *testing.T) {
			g := &generator{rand.New(rand.NewPCG(*seed, uint64(d))), d}
			var judged, refused int
			for range *statements {
				source := g.damaged(g.statement())
				accepted, counted := sound(t, g, parse(t, source, types), source, prepare)
				judged += counted
				if !accepted {
					refused++
				}
			}
			t.Logf("%d renderings prepared, %d of %d templates refused at load", judged, refused, *statements)
			if judged < *statements/4 {
				t.Errorf("only %d renderings could be judged: the generator tests too little", judged)
			}
		})
	}
}

func sound(t *testing.T, g *generator, tree *template.Tree, source string, prepare server) (accepted bool, judged int) {
	p, diags := Compile(tree, g.dialect)
	if p == nil {
		if !diags.HasErrors() {
			t.Fatalf("%q: no program and no error", source)
		}
		return false, 0
	}
	for range 3 {
		draw := g.Uint64()
		innocent, wicked := *g, *g
		innocent.Rand, wicked.Rand = rand.New(rand.NewPCG(draw, 0)), rand.New(rand.NewPCG(draw, 0))
		n := 0
		text, args, err := p.Bind(innocent.values(func() string { return "v" }), nil)
		same, _, err2 := p.Bind(wicked.values(func() string { n++; return hostile[(n+int(draw%97))%len(hostile)] }), nil)
		if err != nil || err2 != nil {
			continue
		}
		if text != same {
			t.Fatalf("%q: a value changed the text:\n%s\n%s", source, text, same)
		}
		count, err := prepare(text)
		if err != nil {
			continue
		}
		judged++
		if count != len(args) {
			t.Fatalf("%q:\n%s\nthe server finds %d parameters, we bind %d", source, text, count, len(args))
		}
	}
	for _, s := range p.Samples() {
		if count, err := prepare(s.Text); err == nil && count != s.Params {
			t.Fatalf("%q: sample %+v has %d parameters", source, s, count)
		}
	}
	return true, judged
}

func ExampleProgram_Bind() {
	tree := &template.Tree{Nodes: []template.Node{
		&template.Text{Value: "SELECT * FROM orders WHERE id = "},
		&template.Interpolation{Source: "input.id", Type: template.Type{Kind: template.Integer}, Value: func(f template.Frame) (any, error) { return f, nil }},
	}}
	p, _ := Compile(tree, PostgreSQL)
	text, args, _ := p.Bind(42, nil)
	fmt.Println(text, args)
	// Output: SELECT * FROM orders WHERE id = $1 [42]
}
