package exprlang

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
)

func FuzzCompileAndRunStayWithinBounds(f *testing.F) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range archives {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if !strings.HasSuffix(file.Name, ".want") {
				f.Add(strings.TrimSuffix(string(file.Data), "\n"))
			}
		}
	}
	open := Env{Roots: map[string]*schema.Type{"input": nil, "output": nil, "step": nil}}
	f.Fuzz(func(t *testing.T, src string) {
		for _, env := range []Env{testEnv(), open} {
			env.Limits = Limits{Steps: 50_000, Memory: 1 << 20, Result: 1 << 20}
			began := time.Now()
			p, problems := Compile(src, env, WantAny)
			if p == nil && len(problems) == 0 {
				t.Fatal("neither a program nor a problem")
			}
			for _, problem := range problems {
				if problem.Offset < 0 || problem.Length < 0 || problem.Offset+problem.Length > len(src) || problem.Summary == "" || problem.Detail == "" {
					t.Fatalf("%+v in %q", problem, src)
				}
				if utf8.ValidString(src) && !utf8.ValidString(src[problem.Offset:problem.Offset+problem.Length]) {
					t.Fatalf("%+v cuts a character of %q", problem, src)
				}
			}
			if p != nil {
				check(t, p)
			}
			if took := time.Since(began); took > maxDuration {
				t.Fatalf("took %v", took)
			}
		}
	})
}

func check(t *testing.T, p *Program) {
	v, err := p.Run(context.Background(), roots(t))
	var fault *EvalError
	if err != nil && (!errors.As(err, &fault) || fault.Cause != nil) {
		t.Fatalf("%v, %v", err, errors.Unwrap(err))
	}
	if err == nil {
		if _, err := functions.Size(v, 1<<20); err != nil {
			t.Fatalf("the result is beyond its limit: %v", err)
		}
	}
}
