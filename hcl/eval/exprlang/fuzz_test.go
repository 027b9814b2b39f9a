package exprlang

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
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
	f.Fuzz(func(t *testing.T, src string) {
		for _, env := range []Env{testEnv(), openEnv()} {
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
				p.limits = limits{steps: 50_000, memory: 1 << 20, result: 1 << 20}
				check(t, p)
			}
			if took := time.Since(began); took > maxDuration {
				t.Fatalf("took %v", took)
			}
		}
	})
}

func check(t *testing.T, p *Program) {
	v, err := p.Run(frameOf(roots(t)), roots(t)["output"])
	var fault *eval.Error
	if err != nil && (!errors.As(err, &fault) || errors.Is(err, context.Canceled)) || strings.Contains(fmt.Sprint(err), "unexpectedly") {
		t.Fatalf("%v, %v", err, errors.Unwrap(err))
	}
	if err == nil {
		if _, err := functions.Size(v, 1<<20); err != nil {
			t.Fatalf("the result is beyond its limit: %v", err)
		}
	}
}
