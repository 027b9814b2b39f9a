package hcl_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters/all"
	. "hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/value"
)

func FuzzLoad(f *testing.F) {
	for _, name := range archives(f) {
		if name == filepath.Join("testdata", "limits.txtar") {
			continue // what is too large is slow to load again and again
		}
		for _, file := range archive(f, name).Files {
			if strings.HasSuffix(file.Name, ".hcl") && len(file.Data) < 1<<12 {
				f.Add(string(file.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		files := fstest.MapFS{"a.hcl": {Data: []byte(src)}, "a.txt": {Data: []byte("text")}}
		opts := Options{Cache: NewCache(), Getenv: func(string) (string, bool) { return "k3y-0f-the-shop", true }}
		config, diags := Load(files, all.Set().Kinds(), opts)
		if config == nil {
			t.Fatal("no Config")
		}
		placed(t, diags, src)
		again, second := Load(files, all.Set().Kinds(), opts)
		if a, b := printed(t, diags, config.Sources), printed(t, second, again.Sources); string(a) != string(b) {
			t.Fatalf("a reload says\n%s\nand the load said\n%s", b, a)
		}
		if again.ID != config.ID {
			t.Fatal("the same files have two identities")
		}
		if strings.Contains(string(printed(t, diags, nil)), "k3y-0f-the-shop") {
			t.Fatal("a diagnostic shows a secret")
		}
	})
}

// placed fails the test unless every diagnostic lies inside the file, has a summary and a detail, and a range that goes forward.
func placed(t *testing.T, diags diag.Diagnostics, src string) {
	for _, d := range diags {
		r := d.Subject
		switch {
		case d.Summary == "" || d.Detail == "":
			t.Fatalf("a diagnostic without words: %+v", d)
		case r.File != "a.hcl":
			t.Fatalf("a diagnostic about no file: %+v", d)
		case r.Start.Byte < 0 || r.End.Byte < r.Start.Byte || r.End.Byte > len(src):
			t.Fatalf("a diagnostic outside of the file of %d bytes: %+v", len(src), d)
		case r.Start.Line < 1 || r.Start.Column < 1 || r.Start.Line > strings.Count(src, "\n")+2:
			t.Fatalf("a diagnostic at a line that is not there: %+v", d)
		case strings.Contains(d.Detail, "%!") || goErrorText.MatchString(d.Summary):
			t.Fatalf("a diagnostic with broken words: %+v", d)
		}
	}
}

func FuzzEval(f *testing.F) {
	for _, seed := range []string{`input.n`, `"${input.s} ${input.n}"`, `[for x in input.list : x]`, `{ for k, v in input.map : k => v... }`, `input.rows[*].id`, `try(input.any.x, "y")`,
		`input.ok ? [1] : { a = 1 }`, `join(",", input.list)`, `"%{for x in input.list}${x}%{if x == 1}!%{endif}%{endfor}"`, `1e400 * 1e400`, `input.list[-1]`, `-(-input.f)`, `local.twice`,
		`input.nothing != null && input.nothing.x != null ? upper(input.nothing.x) : ""`, `1 / 3`, `input.n % 0`, `max(input.list...)`, `a.b.c`, `"${"${1}"}"`, `caller.groups[0]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		e, diags := compileValue(t, expression)
		if e == nil || diags.HasErrors() {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		frame := callFrame(ctx)
		before := string(mustJSON(t, frame.Input))
		v, err := e.Eval(frame)
		if err != nil {
			if err.Error() == "" || goErrorText.MatchString(err.Error()) {
				t.Fatalf("an error without words for the model: %q", err)
			}
			return
		}
		if v, err = value.ResolveAll(v); err == nil && value.Kind(v) == "" {
			t.Fatalf("%T is no value", v)
		}
		if v == nil && e.Typed.NullReason == "" && e.Typed.Type.Kind != 0 && !e.Typed.Type.AllowsNull() {
			t.Fatalf("%s is null, and the type at load is %s", expression, e.Typed.Type)
		}
		if after := string(mustJSON(t, frame.Input)); after != before {
			t.Fatalf("the arguments were changed:\n%s\n%s", before, after)
		}
	})
}

func mustJSON(t *testing.T, v any) []byte {
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func FuzzMessage(f *testing.F) {
	for _, seed := range []string{`plain`, `${input.s} and ${input.none}`, `${output.body.a.b[3].c}`, `%{for x in output.body}${x}%{endfor}`, `${output.headers["x"]} ${output.status}`, `%{if input.ok}a%{else}b%{endif}`, `$${x} %%{y}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "TEXT") {
			return
		}
		src := "tool \"t\" {\n  description = \"x\"\n  input \"s\" { type = string }\n  input \"ok\" { type = bool }\n  input \"none\" { type = optional(string) }\n" +
			"  http { get = \"https://a.example/\" }\n  text = <<-TEXT\n" + text + "\n  TEXT\n}\n"
		config, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, all.Set().Kinds(), Options{})
		if diags.HasErrors() || len(config.Tools) != 1 || config.Tools[0].Text == nil {
			return
		}
		frame := callFrame(t.Context())
		frame.Output = map[string]any{"status": 200, "headers": map[string]any{}, "body": []any{1, nil, map[string]any{"a": "b"}}}
		if _, err := config.Tools[0].Text.Append(nil, frame); err != nil && (err.Error() == "" || goErrorText.MatchString(err.Error())) {
			t.Fatalf("an error without words for the model: %q", err)
		}
	})
}
