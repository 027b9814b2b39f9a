package uritemplate

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"
)

func parsedTemplate(t testing.TB, raw string) *Template {
	p, err := Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return p
}

func TestATemplateSaysWhatItsVariablesAre(t *testing.T) {
	for _, c := range []struct{ template, uri, want string }{
		{"a://{id}", "a://5", "map[id:5]"},
		{"a://{id}", "a://", ""},
		{"a://{id}", "a://5/6", ""},
		{"a://{id}", "a://5?x=1", ""},
		{"a://{id}", "a://5%2F6%20%C3%BC", "map[id:5/6 ü]"},
		{"a://{id}", "a://grün", "map[id:grün]"},
		{"a://{id}", "a://(it's)!*", "map[id:(it's)!*]"},
		{"a://{id}", "a://100%", ""},
		{"a://{id}", "a://%ff", ""},
		{"a://{id}", "a://\xff", ""},
		{"a://{id}", "b://5", ""},
		{"a://{id}", "xa://5", ""},
		{"test://template/{id}/data", "test://template/123/data", "map[id:123]"},
		{"test://template/{id}/data", "test://template/123/data/", ""},
		{"a://{x}/{y}", "a://1/2", "map[x:1 y:2]"},
		{"a://{name}.{ext}", "a://archive.tar.gz", "map[ext:gz name:archive.tar]"},
		{"a://{+path}", "a://b/c?d#e", "map[path:b/c?d#e]"},
		{"a://{+dir}/{name}", "a://b/c/d", "map[dir:b/c name:d]"},
		{"a://{+dir}/{a}/{b}", "a://w/x/y/z", "map[a:y b:z dir:w/x]"},
		{"a://{+path}/raw", "a://b/raw/raw", "map[path:b/raw]"},
		{"a://b{/x,y}", "a://b", "map[]"},
		{"a://b{/x,y}", "a://b/1", "map[x:1]"},
		{"a://b{/x,y}", "a://b/1/2", "map[x:1 y:2]"},
		{"a://b{/x,y}", "a://b/1/2/3", ""},
		{"a://b{/x}{/y}", "a://b/1/2", "map[x:1 y:2]"},
		{"a://{id}{/x}", "a://1/2", "map[id:1 x:2]"},
		{"a://b{?x,y}", "a://b", "map[]"},
		{"a://b{?x,y}", "a://b?", "map[]"},
		{"a://b{?x,y}", "a://b?y=2&x=1", "map[x:1 y:2]"},
		{"a://b{?x,y}", "a://b?x=", "map[x:]"},
		{"a://b{?x,y}", "a://b?x=1&x=2", ""},
		{"a://b{?x,y}", "a://b?z=1", ""},
		{"a://b{?x,y}", "a://b?x", ""},
		{"a://b{?x,y}", "a://b?x=1&", ""},
		{"a://b{?x,xx}", "a://b?xx=1", "map[xx:1]"},
		{"a://{+path}{?x}", "a://b/c?x=1", "map[path:b/c x:1]"},
		{"a://b?c=d{&x,y}", "a://b?c=d", "map[]"},
		{"a://b?c=d{&x,y}", "a://b?c=d&y=2&x=1", "map[x:1 y:2]"},
		{"a://{id}?c=d{&x}", "a://7?c=d&x=1", "map[id:7 x:1]"},
		{"a://(.*){x}", "a://(.*)1", "map[x:1]"},
	} {
		got := ""
		if values, ok := parsedTemplate(t, c.template).Match(c.uri); ok {
			got = fmt.Sprint(values)
		}
		if got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.uri, c.template, got, c.want)
		}
	}
}

func TestALongURIMatchesNothing(t *testing.T) {
	p := parsedTemplate(t, "a://{+x}")
	if _, ok := p.Match("a://" + strings.Repeat("x", maxURI-4)); !ok {
		t.Error("a URI of 2 KiB is refused")
	}
	if _, ok := p.Match("a://" + strings.Repeat("x", maxURI-3)); ok {
		t.Error("a URI of more than 2 KiB is taken")
	}
	if _, err := Parse("a://{x}" + strings.Repeat("x", maxTemplateSize)); err == nil {
		t.Error("a template of more than 512 bytes is taken")
	}
}

// What a URI says of its variables is what they expand to: matching the expansion gives the same values, and a URI that is written in the way of the standard
// is the expansion.
func FuzzTemplateMatches(f *testing.F) {
	for _, seed := range [][2]string{
		{"a://{id}", "a://5"}, {"a://{+dir}/{name}", "a://b/c/d"}, {"a://b{/x,y}", "a://b/1/2"}, {"a://b{?x,y}", "a://b?x=1&y=2"}, {"a://b?c=d{&x}", "a://b?c=d&x=%20"},
		{"a://{x}.{y}", "a://1.2.3"}, {"a://{+x}{?y}", "a:///?y="}, {"a:{x}", "a:%c3%BC"}, {"{x", "a:"}, {"a://{+x}-{+y}-{+z}", "a://" + strings.Repeat("-", 2000)},
		{"a://{x},{y},{z}", "a://,,,,,,"}, {"a://{+a}/{b}{/c}{?d}", "a://////////?d=%"},
		{"a://b?c=d{&x}", "a://b?c=d&x=%000"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, raw, uri string) {
		p, err := Parse(raw)
		if err != nil {
			return
		}
		standard, err := uritemplate.New(raw)
		if err != nil {
			t.Fatalf("%s is taken, and the standard does not know it: %v", raw, err)
		}
		values, ok := p.Match(uri)
		if !ok {
			return
		}
		given, plain := uritemplate.Values{}, true
		for _, v := range p.Variables() {
			text, there := values[v.Name]
			if !there && !v.Optional {
				t.Fatalf("%q says nothing of %s, which %s needs", uri, v.Name, raw)
			}
			if there {
				given.Set(v.Name, uritemplate.String(text))
			}
			plain = plain && strings.IndexFunc(text, func(r rune) bool { return r == '%' || r == 0 || r >= utf8.RuneSelf }) < 0
		}
		expanded := p.Expand(values)
		if want, err := standard.Expand(given); plain && (err != nil || expanded != want) { // the library escapes other scripts wrongly, and loses U+0000
			t.Fatalf("%s with %q is %q, %v, and Expand makes %q of it", raw, values, want, err, expanded)
		}
		if len(expanded) > maxURI {
			return // escaping has made it longer
		}
		again, ok := p.Match(expanded)
		if !ok || !maps.Equal(again, values) {
			t.Fatalf("%q of %s gives %q, which expands to %q, which gives %q", uri, raw, values, expanded, again)
		}
	})
}

func TestAnExpandedTemplateMatchesWithItsVariables(t *testing.T) {
	for _, c := range []struct {
		template string
		values   map[string]string
		want     string
	}{
		{"orders://{id}", map[string]string{"id": "1042"}, "orders://1042"},
		{"files://{+path}", map[string]string{"path": "a b/é?.txt"}, "files://a%20b/%C3%A9?.txt"},
		{"o://{id}{?page,lang}", map[string]string{"id": "a/b&c", "lang": "d=e"}, "o://a%2Fb%26c?lang=d%3De"},
		{"o://{id}{?page,lang}", map[string]string{"id": "x", "page": "2", "lang": "de"}, "o://x?page=2&lang=de"},
		{"o://x{/a,b}", map[string]string{"a": "1", "b": "2"}, "o://x/1/2"},
		{"o://x{/a,b}", map[string]string{}, "o://x"},
		{"o://x?a=1{&b}", map[string]string{"b": "2"}, "o://x?a=1&b=2"},
	} {
		parsed, err := Parse(c.template)
		if err != nil {
			t.Fatal(err)
		}
		got := parsed.Expand(c.values)
		if back, ok := parsed.Match(got); got != c.want || !ok || !maps.Equal(back, c.values) {
			t.Errorf("%s with %v: %s, which matches %v", c.template, c.values, got, back)
		}
	}
}
