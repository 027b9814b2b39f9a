package urltext

import (
	"net/url"
	"strings"
	"testing"

	"hatchel/hcl/template"
	"hatchel/hcl/template/templatetest"
)

type frame = templatetest.Frame

func TestPathGoldens(t *testing.T) {
	templatetest.Goldens(t, "path*.txtar", func(t *testing.T, types map[string]template.Type, in string) string {
		_, diags := CompilePath(templatetest.Parse(t, types, in))
		return templatetest.Render(diags)
	})
}

func TestURLGoldens(t *testing.T) {
	templatetest.Goldens(t, "url*.txtar", func(t *testing.T, types map[string]template.Type, in string) string {
		u, diags := CompileURL(templatetest.Parse(t, types, in))
		out := templatetest.Render(diags)
		if u != nil && u.HostsNeeded() {
			out += "hosts needed\n"
		}
		return out
	})
}

const types = `
s string
t string
n integer
m number
e enum open closed
l list string
b bool
any any
v known v2
base known https://known.example/api
`

func TestPathsBind(t *testing.T) {
	table := templatetest.Types(t, types)
	for _, test := range []struct {
		in   string
		f    frame
		want string
		err  string
	}{
		{"/orders/${input.s}", frame{"s": "a b"}, "/orders/a%20b", ""},
		{"/orders/${input.n}", frame{"n": -7}, "/orders/-7", ""},
		{"/orders/${input.s}.json", frame{"s": "é?#%"}, "/orders/%C3%A9%3F%23%25.json", ""},
		{"/${input.s}-${input.t}", frame{"s": "a", "t": "b"}, "/a-b", ""},
		{"/${input.s}${input.t}", frame{"s": ".", "t": "."}, "", `is ".."`},
		{"/${input.s}.", frame{"s": "."}, "", `is ".."`},
		{"/${input.s}.", frame{"s": "a"}, "/a.", ""},
		{"/orders/${input.s}", frame{"s": ""}, "", "is empty"},
		{"/orders/${input.s}/x", frame{"s": ""}, "", "is empty"},
		{"/orders/${input.s}?a=b", frame{"s": ".."}, "", `is ".."`},
		{"/orders/${input.s}", frame{"s": "a/b"}, "", "holds '/'"},
		{"/orders/${input.s}", frame{"s": "a\\b"}, "", `holds '\\'`},
		{"/orders/${input.s}", frame{"s": "%2e%2e"}, "", `is ".."`},
		{"/orders/${input.s}", frame{"s": "%252E%25252e"}, "", `is ".."`},
		{"/orders/${input.s}", frame{"s": "a%252Fb"}, "", "holds '/'"},
		{"/orders/${input.s}", frame{"s": "a%0d%0aX"}, "", "control"},
		{"/orders/${input.s}", frame{"s": "..;x"}, "", `is ".."`},
		{"/orders/${input.s}", frame{"s": "a\x00"}, "", "control"},
		{"/orders/${input.s}", frame{"s": "100%"}, "/orders/100%25", ""},
		{"/orders/${input.any}", frame{"any": nil}, "", "input.any is null"},
		{"/orders/${input.any}", frame{"any": []any{1}}, "", "single value"},
		{"/f/${path(input.l)}", frame{"l": []any{"a", "b c"}}, "/f/a/b%20c", ""},
		{"/f/${path(input.s)}/x", frame{"s": "a/b c"}, "/f/a/b%20c/x", ""},
		{"/f/${path(input.s)}", frame{"s": "a/../b"}, "", `is ".."`},
		{"/f/${path(input.s)}", frame{"s": "/a"}, "", "is empty"},
		{"/f/${path(input.l)}", frame{"l": []any{}}, "", "at least one"},
		{"/f/${path(input.l)}", frame{"l": []any{"a/b"}}, "", "holds '/'"},
		{"/p/${segment(input.s)}/x", frame{"s": "group/my project"}, "/p/group%2Fmy%20project/x", ""},
		{"/p/${segment(input.s)}", frame{"s": "project"}, "/p/project", ""},
		{"/p/${segment(input.l)}", frame{"l": []any{"a", "b"}}, "/p/a%2Fb", ""},
		{"/p/${segment(input.s)}", frame{"s": "group/../admin"}, "", `is ".."`},
		{"/p/${segment(input.s)}", frame{"s": "group%2F..%2Fadmin"}, "", "holds '/'"},
		{"/p/${segment(input.s)}", frame{"s": "/etc"}, "", "is empty"},
		{"/p/${segment(input.s)}", frame{"s": "a//b"}, "", "is empty"},
		{"/p/${segment(input.s)}", frame{"s": "a\\b"}, "", `holds '\\'`},
		{"?q=${input.s}&x=${input.n}", frame{"s": "a&b=c#d", "n": 1}, "?q=a%26b%3Dc%23d&x=1", ""},
		{"/a?q=${input.s}", frame{"s": "../x\r\n"}, "/a?q=..%2Fx%0D%0A", ""},
		{"/a%{if input.b}/${input.s}%{else}?all=1%{endif}", frame{"b": true, "s": "x"}, "/a/x", ""},
		{"/a%{if input.b}/${input.s}%{else}?all=1%{endif}", frame{"b": false}, "/a?all=1", ""},
		{"/a%{for x in input.l}/${x}%{endfor}", frame{"l": []any{"x", "y"}}, "/a/x/y", ""},
		{"/a%{for x in input.l}/${x}%{endfor}", frame{"l": []any{"x", ".."}}, "", `is ".."`},
		{"/${var.v}/x", frame{}, "/v2/x", ""},
		{"", frame{}, "", ""},
	} {
		p, diags := CompilePath(templatetest.Parse(t, table, test.in))
		if diags.HasErrors() {
			t.Errorf("%s: %s", test.in, templatetest.Render(diags))
			continue
		}
		got, err := p.Bind(test.f, []byte("https://h.example/api"))
		switch {
		case err == nil && (test.err != "" || string(got) != "https://h.example/api"+test.want):
			t.Errorf("%s with %v: got %s, want %s %s", test.in, test.f, got, test.want, test.err)
		case err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err) || string(got) != "https://h.example/api"):
			t.Errorf("%s with %v: got %v and %s, want %s %s", test.in, test.f, err, got, test.want, test.err)
		}
	}
}

func TestURLsBind(t *testing.T) {
	table := templatetest.Types(t, types)
	hosts := []string{"api.example.com", "*.shop.example", "local.example:8080", "[::1]:80"}
	for _, test := range []struct{ in, s, want, err string }{
		{"https://h.example/${input.s}", "a", "https://h.example/a", ""},
		{"https://h.example:8443?q=${input.s}", "a@b/c", "https://h.example:8443?q=a%40b%2Fc", ""},
		{"https://h.example/${input.s}", "..", "", `is ".."`},
		{"${var.base}/x/${input.s}", "a", "https://known.example/api/x/a", ""},
		{"${input.s}", "https://api.example.com/x?y=%20z", "https://api.example.com/x?y=%20z", ""},
		{"${input.s}", "HTTPS://API.example.com:443", "HTTPS://API.example.com:443", ""},
		{"${input.s}", "https://a.shop.example/", "https://a.shop.example/", ""},
		{"${input.s}", "http://local.example:8080/", "http://local.example:8080/", ""},
		{"${input.s}", "http://[::1]/", "http://[::1]/", ""},
		{"${input.s}", "https://shop.example/", "", "not allowed"},
		{"${input.s}", "https://evilshop.example/", "", "not allowed"},
		{"${input.s}", "http://local.example/", "", "not allowed"},
		{"${input.s}", "https://api.example.com:8080/", "", "not allowed"},
		{"${input.s}", "https://api.example.com@evil.example/", "", "user or password"},
		{"${input.s}", "https://api.example.com\\@evil.example/", "", "user or password"},
		{"${input.s}", "https://evil.example\\.shop.example/", "", "host"},
		{"${input.s}", "https://evil.example#.shop.example/", "", "fragment"},
		{"${input.s}", "https://api.example.com/a b", "", "%20"},
		{"${input.s}", "https://api.example.com/\r\nX: y", "", "%0D"},
		{"${input.s}", "https://api.example.com/#x", "", "fragment"},
		{"${input.s}", "file:///etc/passwd", "", "https://"},
		{"${input.s}", "//api.example.com/", "", "https://"},
		{"${input.s}", "https://", "", "is empty"},
		{"${input.s}", "https://api.example.com:99999/", "", "port"},
		{"${input.s}", "https://%61pi.example.com/", "", "host"},
	} {
		u, diags := CompileURL(templatetest.Parse(t, table, test.in))
		if diags.HasErrors() {
			t.Errorf("%s: %s", test.in, templatetest.Render(diags))
			continue
		}
		got, err := u.Within(hosts).Bind(frame{"s": test.s}, nil)
		if err == nil && (test.err != "" || string(got) != test.want) || err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s with %s: got %s, %v; want %s %s", test.in, test.s, got, err, test.want, test.err)
		}
		if u.HostsNeeded() {
			if _, err := u.Bind(frame{"s": test.s}, nil); err == nil {
				t.Errorf("%s went anywhere", test.s)
			}
		}
	}
}

var hostile = []string{
	"", "a", ".", "..", "...", "a/b", "/", "//", "//evil.example", "\\\\evil.example", "@evil.example", ":8080", "a:b@c", "?x=y", "#f", "&a=b", "%", "%2", "%2f", "%2F..%2f", "%252e%252e", "%25252f", "%c0%ae", "%e0%80%af", "..;", ";", "..%3b/",
	"\r\nHost: x", "\x00", "%00", "\x7f", "é", "日本", "\xff", "a b", "+", "~", "*", "{x}", "<>\"", "`", "|", "^", "[::1]", "http://evil.example", "javascript:alert(1)", "．．", "／", "\u0085", "%c2%85", ".%2e", "%2e", "a%5cb",
}

// FuzzSegmentsNeverChangeTheURL compares with what net/url makes of the result.
func FuzzSegmentsNeverChangeTheURL(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, "x")
		f.Add("x", s)
		f.Add(s, s)
	}
	table := templatetest.Types(f, types)
	var paths []*Path
	forms := []struct {
		in       string
		segments int
	}{{"/a/${segment(input.s)}/b?q=${input.t}", 3}, {"/a/${input.s}/b?q=${input.t}", 3}, {"/a/${input.s}${input.t}.json", 2}, {"/${input.s}", 1}, {"/a/x${input.s}-${input.t}/b", 3}, {"/${input.s}%{if input.b}/${input.t}%{endif}?a=${input.s}&q=${input.t}", 2}}
	for _, form := range forms {
		p, diags := CompilePath(templatetest.Parse(f, table, form.in))
		if diags.HasErrors() {
			f.Fatal(templatetest.Render(diags))
		}
		paths = append(paths, p)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for i, p := range paths {
			got, err := p.Bind(frame{"s": a, "t": b, "b": true}, []byte("https://h.example"))
			if err != nil {
				continue
			}
			u, err := url.Parse(string(got))
			if err != nil {
				t.Fatalf("%q from %q and %q: %v", got, a, b, err)
			}
			if u.Scheme != "https" || u.Host != "h.example" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
				t.Fatalf("%q from %q and %q", got, a, b)
			}
			raw := u.EscapedPath()
			for round := range 4 {
				segments := strings.Split(strings.TrimPrefix(raw, "/"), "/")
				divided := round > 0 && strings.Contains(forms[i].in, "segment(")
				if len(segments) != forms[i].segments && !divided {
					t.Fatalf("%q from %q and %q has %d segments", got, a, b, len(segments))
				}
				for _, s := range segments {
					if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "\\\r\n\x00") {
						t.Fatalf("%q from %q and %q has the segment %q", got, a, b, s)
					}
				}
				next, err := url.PathUnescape(raw)
				if err != nil {
					break
				}
				raw = next
			}
			q, err := url.ParseQuery(u.RawQuery)
			if err != nil || u.RawQuery != "" && q.Get("q") != b || len(q) > 2 {
				t.Fatalf("%q from %q and %q: query %v %v", got, a, b, q, err)
			}
		}
	})
}

// FuzzHostsHold gives whole URLs and asks net/url which host they lead to.
func FuzzHostsHold(f *testing.F) {
	for _, s := range hostile {
		f.Add("https://h.example" + s)
		f.Add("https://" + s + "h.example/")
		f.Add(s)
	}
	u, diags := CompileURL(templatetest.Parse(f, templatetest.Types(f, types), "${input.s}"))
	if diags.HasErrors() {
		f.Fatal(templatetest.Render(diags))
	}
	u = u.Within([]string{"h.example"})
	f.Fuzz(func(t *testing.T, s string) {
		got, err := u.Bind(frame{"s": s}, nil)
		if err != nil {
			return
		}
		p, err := url.Parse(string(got))
		if err != nil || !strings.EqualFold(p.Hostname(), "h.example") || p.User != nil || p.Port() != "" && p.Port() != "80" && p.Port() != "443" || string(got) != s {
			t.Fatalf("%q: %v %v", s, p, err)
		}
	})
}
