package lsp

import (
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl"
	"hatchel/hcl/decode"
)

// panicking is a backend whose description panics.
type panicking struct{}

func (panicking) Describe(*hcl.Connection) (hcl.Effects, error) { panic("out of cheese") }

func TestAPanicOfALoadIsAnErrorOfThatLoad(t *testing.T) {
	kinds := hcl.Kinds{Backends: []hcl.BackendKind{{Name: "bad", New: func() (hcl.Describer, decode.Spec) {
		return panicking{}, nil
	}}}}
	files := fstest.MapFS{"a.hcl": {Data: []byte("tool \"a\" {\n  description = \"Says it.\"\n  bad {}\n}\n")}}
	inGoroutines := func(n int, do func(i int)) {
		done := make(chan bool)
		for i := range n {
			go func() { do(i); done <- true }()
		}
		for range n {
			<-done
		}
	}
	for _, parallel := range []func(int, func(int)){nil, guarded(inGoroutines)} {
		_, err := load(editor.NewLanguage(kinds), files, hcl.Options{Parallel: parallel}, nil)
		if err == nil || !strings.Contains(err.Error(), "out of cheese") {
			t.Error(err)
		}
	}
}
