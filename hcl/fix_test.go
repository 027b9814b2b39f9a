package hcl_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// What a person reads as "Did you mean" is what an editor offers as a correction.
func TestEveryDidYouMeanOfTheGoldensHasAFix(t *testing.T) {
	n := 0
	for _, name := range archives(t) {
		_, diags, sources := loadArchive(t, archive(t, name), nil)
		for _, d := range diags {
			if !strings.Contains(d.Detail, "Did you mean") || d.Subject.File == "" {
				continue
			}
			n++
			if _, _, text, ok := d.Fix(sources[d.Subject.File]); !ok || !strings.Contains(d.Detail, text) {
				t.Errorf("%s: %s:%d: %s: %s has the fix %q, %v", name, d.Subject.File, d.Subject.Start.Line, d.Summary,
					d.Detail, text, ok)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d suggestions", n)
	}
}

// A corrected text has the mistake no more.
func TestAFixCorrectsTheMistake(t *testing.T) {
	const before = `connection "http" "shop" { base_url = "https://shop.example.com" }
tool "order" {
  descriptoin = "Returns one order."
  input "id" { type = strnig }
  input "size" { type = "integer" }
  input "kind" { type = string("x", { minimum = 3 }) }
  http "shpo" { get = "/orders/${imput.id}/${id}/${input.idd}/${lenght(input.size)}" }
  result = "outputt.body"
}
`
	src := before
	for range 20 {
		_, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, all.Set().Kinds(), Options{})
		fixable := func(d *Diagnostic) bool { _, _, _, ok := d.Fix([]byte(src)); return ok }
		i := slices.IndexFunc(diags, fixable)
		if i < 0 {
			break
		}
		from, to, text, _ := diags[i].Fix([]byte(src))
		src = src[:from] + text + src[to:]
	}
	const want = `connection "http" "shop" { base_url = "https://shop.example.com" }
tool "order" {
  description = "Returns one order."
  input "id" { type = string }
  input "size" { type = integer }
  input "kind" { type = string("x", { min = 3 }) }
  http "shop" { get = "/orders/${input.id}/${input.id}/${input.id}/${length(input.size)}" }
  result = "output.body"
}
`
	if src != want {
		t.Errorf("the fixes give:\n%s", src)
	}
}

// try and can are functions that are not in the table.
func TestAConditionOfATemplateMayCallAnyFunction(t *testing.T) {
	for _, condition := range []string{"can(input.id)", "unknown(input.id)"} {
		Load(fstest.MapFS{"a.hcl": {Data: []byte(`connection "sqlite" "d" { path = "x.db" }
tool "t" {
  description = "x"
  input "id" { type = string }
  sql "d" { query = "SELECT 1 %{if ` + condition + `} WHERE 1 = 1 %{endif}" }
}
`)}}, all.Set().Kinds(), Options{})
	}
}
